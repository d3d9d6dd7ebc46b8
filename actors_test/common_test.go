package actors_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/redisstore"
)

func TestMain(m *testing.M) {
	playRole() // in a process that a test has started
	goleak.VerifyTestMain(m)
}

// plenty bounds what must happen but has no time of its own.
const plenty = 20 * time.Second

// newManager makes a manager that is shut down when the test ends. The options
// are its defaults. Within a bubble of synctest it lives in the bubble.
func newManager(t *testing.T, store lease.Store, opts ...actorlock.Option) *actorlock.Manager {
	t.Helper()
	return startManager(t, actorlock.Config{Store: store, Defaults: opts})
}

// startManager is newManager with the whole configuration. Without a logger
// what it logs is shown only when the test fails.
func startManager(t *testing.T, cfg actorlock.Config) *actorlock.Manager {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quietLogger(t).Logger
	}
	m, err := actorlock.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), plenty)
		defer cancel()
		if err := m.Shutdown(ctx); err != nil {
			t.Logf("shutdown at the end of the test: %v", err)
		}
	})
	return m
}

// redisServer runs a redis-server of the test's own.
func redisServer(t *testing.T, opts ...redistest.Option) *redistest.Server {
	t.Helper()
	return redistest.Start(t, opts...)
}

// redisManager makes a manager on a store and a client of its own.
func redisManager(t *testing.T, srv *redistest.Server, opts ...actorlock.Option) *actorlock.Manager {
	t.Helper()
	return newManager(t, redisStore(t, userClient(t, srv.Addr())), opts...)
}

// redisStore makes a store that is closed when the test ends.
func redisStore(t *testing.T, client redis.UniversalClient, opts ...redisstore.Option) *redisstore.Store {
	t.Helper()
	opts = append([]redisstore.Option{redisstore.Logger(quietLogger(t).Logger)}, opts...)
	s := redisstore.New(client, opts...)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// userClient is a client as an application has it, with go-redis' defaults but
// for what change sets.
func userClient(t *testing.T, addr string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	opt := &redis.Options{
		Addr:                     addr,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, c := range change {
		c(opt)
	}
	client := redis.NewClient(opt)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// The last thing in the bubble: a dead letter starts a goroutine of the
		// actor framework that lasts for a moment.
		t.Cleanup(func() { <-time.After(time.Second) })
		test(t)
	})
}

// eventually waits for something that no signal tells of.
func eventually(t *testing.T, cond func() bool, what ...any) {
	t.Helper()
	require.Eventually(t, cond, plenty, 2*time.Millisecond, what...)
}

// queued waits until n calls of m wait for key.
func queued(t *testing.T, m *actorlock.Manager, key string, n int) {
	t.Helper()
	eventually(t, func() bool {
		info, err := m.Inspect(context.Background(), key)
		return err == nil && info.Waiters == n
	}, "%d waiters for %s", n, key)
}

// logs is a logger and what it was given.
type logs struct {
	*slog.Logger
	mu  sync.Mutex
	buf bytes.Buffer
}

// quietLogger captures logs and shows them only when the test fails.
func quietLogger(t *testing.T) *logs {
	t.Helper()
	l := &logs{}
	l.Logger = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logged:\n%s", l.text())
		}
	})
	return l
}

// Write implements io.Writer for the handler.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// count is how many lines contain text.
func (l *logs) count(text string) int {
	n := 0
	for line := range strings.Lines(l.text()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
