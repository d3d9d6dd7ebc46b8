package redistest

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Server is a redis-server on a loopback port. Its methods are safe for
// concurrent use.
type Server struct {
	cfg     config
	dir     string
	ownDirs []string // removed by Close
	port    int
	tlsPort int // 0 without TLS
	socket  string
	report  func(error) // hears of every failure of the harness itself

	mu     sync.Mutex
	proc   *process // nil while the server is down
	paused bool
	closed bool
}

// Start runs a server until the test ends. It fails the test if it cannot.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s, err := open(t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	s.report = func(err error) { t.Error(err) }
	// Registered after TempDir, hence run before the directory is removed.
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Run is Start for programs that are not tests. The caller closes the server.
func Run(opts ...Option) (*Server, error) {
	dir, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return nil, err
	}
	s, err := open(dir, opts)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.ownDirs = append(s.ownDirs, dir)
	return s, nil
}

func open(dir string, opts []Option) (*Server, error) {
	s := &Server{dir: dir, report: func(error) {}}
	for _, o := range opts {
		o(&s.cfg)
	}
	if s.cfg.unix {
		// The path of a socket may be about 100 bytes long, which the directory
		// of a test with a long name exceeds.
		short, err := os.MkdirTemp("", "rt-")
		if err != nil {
			return nil, err
		}
		s.ownDirs = append(s.ownDirs, short)
		s.socket = filepath.Join(short, "redis.sock")
	}
	if s.cfg.sentinel != "" {
		if err := os.WriteFile(sentinelFile(dir), []byte(s.cfg.sentinel), 0o600); err != nil {
			return nil, errors.Join(err, s.removeDirs())
		}
	}
	if err := s.launchAnywhere(); err != nil {
		return nil, errors.Join(err, s.removeDirs())
	}
	return s, nil
}

// Addr returns the host:port the server listens on. It stays the same over
// restarts.
func (s *Server) Addr() string { return address(s.port) }

// URL returns the redis:// address of the server, with its password if any.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr(), Path: "/0", User: s.userinfo()}
	return u.String()
}

// Socket returns the path of the Unix socket, or "" without the Unix option.
func (s *Server) Socket() string { return s.socket }

// SocketURL returns the unix:// address of the server, or "" without the Unix
// option.
func (s *Server) SocketURL() string {
	if s.socket == "" {
		return ""
	}
	u := url.URL{Scheme: "unix", Path: s.socket, User: s.userinfo()}
	return u.String()
}

func (s *Server) userinfo() *url.Userinfo {
	if s.cfg.password == "" {
		return nil
	}
	return url.UserPassword("", s.cfg.password)
}

// Pid returns the process id of the server, or 0 while it is down.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.pid()
}

// Close ends the server for good and removes what Run created. It may be called
// more than once.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.check(errors.Join(s.end(), s.removeDirs()))
}

func (s *Server) removeDirs() error {
	var errs []error
	for _, dir := range s.ownDirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// check passes err on, after it made sure that a test cannot overlook it.
func (s *Server) check(err error) error {
	if err != nil {
		s.report(err)
	}
	return err
}
