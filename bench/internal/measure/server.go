// Package measure reads clocks and counters: durations, processor time,
// allocations and memory of this process, and what the Redis server tells of
// itself.
package measure

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// slowFrom is the least that a command must take to be found by Slowest.
const slowFrom = 100 * time.Microsecond

// Server is a redis-server of the run's own, and a client to look at it with.
type Server struct {
	process *redistest.Server
	admin   *redis.Client
}

// StartServer starts a redis-server on a port of its own, without persistence.
func StartServer() (*Server, error) {
	p, err := redistest.Run(redistest.Args(
		"--slowlog-log-slower-than", strconv.FormatInt(slowFrom.Microseconds(), 10),
		"--slowlog-max-len", "4096",
	))
	if err != nil {
		return nil, err
	}
	return &Server{process: p, admin: redis.NewClient(&redis.Options{Addr: p.Addr()})}, nil
}

// Addr is where the server listens: host:port.
func (s *Server) Addr() string { return s.process.Addr() }

// Client is a client that is not part of what is measured.
func (s *Server) Client() *redis.Client { return s.admin }

// Close ends the server.
func (s *Server) Close() error { return errors.Join(s.admin.Close(), s.process.Close()) }

// Version is the server's version.
func (s *Server) Version(ctx context.Context) (string, error) {
	i, err := s.info(ctx, "server")
	return i["redis_version"], err
}

// Memory is how many bytes the server uses for its data and clients.
func (s *Server) Memory(ctx context.Context) (float64, error) {
	i, err := s.info(ctx, "memory")
	return i.number("used_memory"), err
}

// Reset empties the server, for what comes next to find it as the last one did.
func (s *Server) Reset(ctx context.Context) error { return s.admin.FlushAll(ctx).Err() }

// ForgetSlow has Slowest look at what comes from now on.
func (s *Server) ForgetSlow(ctx context.Context) error {
	return s.admin.Do(ctx, "slowlog", "reset").Err()
}

// Slowest is how long the slowest command since ForgetSlow kept the server from
// serving others; 0 when none took 0.1 ms.
func (s *Server) Slowest(ctx context.Context) (time.Duration, error) {
	logs, err := s.admin.SlowLogGet(ctx, -1).Result()
	var longest time.Duration
	for _, l := range logs {
		// Emptying the server is the run's own doing.
		if len(l.Args) > 0 && !strings.EqualFold(l.Args[0], "flushall") {
			longest = max(longest, l.Duration)
		}
	}
	return longest, err
}

// info is what INFO says, by field.
type info map[string]string

func (s *Server) info(ctx context.Context, sections ...string) (info, error) {
	text, err := s.admin.Info(ctx, sections...).Result()
	if err != nil {
		return nil, err
	}
	i := info{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			i[name] = value
		}
	}
	return i, nil
}

func (i info) number(name string) float64 {
	v, _ := strconv.ParseFloat(i[name], 64) // a field that is not there reads 0
	return v
}

func (i info) seconds(name string) time.Duration {
	return time.Duration(i.number(name) * float64(time.Second))
}
