package redistest

import "strconv"

// Option changes how a server is started.
type Option func(*config)

type config struct {
	args     []string
	persist  bool
	password string
	unix     bool
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

// commandLine is the argument list of a server on port. socket is empty when
// there is none.
func (c config) commandLine(dir string, port int, socket string) []string {
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
	return append(line, c.args...)
}
