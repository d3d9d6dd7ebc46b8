package redistest

import (
	"strconv"
	"strings"
)

// Option changes how a server is started.
type Option func(*config)

type config struct {
	args     []string
	persist  bool
	password string
	unix     bool
	sentinel string // sentinel.conf of a server that is a sentinel
	certs    *Certs
}

// Args adds redis.conf directives in command-line form, for example
// Args("--maxmemory", "1mb"). They come last and so override what the package
// sets itself. Use Password rather than --requirepass: the package needs to log
// in as well.
func Args(args ...string) Option {
	return func(c *config) { c.args = append(c.args, args...) }
}

// Persist makes every write survive Kill and Restart: an append-only file,
// synced before each reply.
func Persist() Option {
	return func(c *config) { c.persist = true }
}

// Password protects the default user with a password.
func Password(password string) Option {
	return func(c *config) { c.password = password }
}

// Unix makes the server listen on a Unix socket as well; see Server.Socket.
func Unix() Option {
	return func(c *config) { c.unix = true }
}

// ReplicaOf makes the server a replica of the one at addr (host:port), which may
// be that of a proxy.
func ReplicaOf(addr string) Option {
	host, port, _ := strings.Cut(addr, ":")
	return Args("--replicaof", host+" "+port)
}

// commandLine is the argument list of a server on port. socket is empty when
// there is none, tlsPort is 0 when it speaks no TLS.
func (c config) commandLine(dir string, port, tlsPort int, socket string) []string {
	if c.sentinel != "" {
		// Sentinels write to their file, and know few directives.
		return []string{sentinelFile(dir), "--sentinel", "--port", strconv.Itoa(port)}
	}
	line := []string{
		"--bind", host,
		"--port", strconv.Itoa(port),
		"--dir", dir,
		"--daemonize", "no",
		"--save", "",
	}
	if c.persist {
		line = append(line, "--appendonly", "yes", "--appendfsync", "always")
	} else {
		line = append(line, "--appendonly", "no")
	}
	if c.password != "" {
		line = append(line, "--requirepass", c.password)
	}
	if socket != "" {
		line = append(line, "--unixsocket", socket, "--unixsocketperm", "700")
	}
	if tlsPort != 0 {
		line = append(line, c.certs.directives(tlsPort)...)
	}
	return append(line, c.args...)
}
