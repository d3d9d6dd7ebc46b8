package redisstore

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
)

const long = time.Minute

// eventually waits for something that no signal tells of.
func eventually(t *testing.T, ok func() bool, what string) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 5*time.Millisecond, what)
}

// try makes one attempt for key, which must not fail.
func try(t *testing.T, s *Store, key, value string) lease.Attempt {
	t.Helper()
	at, err := s.Acquire(t.Context(), lease.Acquisition{Key: key, Value: value, TTL: long, Fence: true})
	require.NoError(t, err)
	return at
}

// take acquires key.
func take(t *testing.T, s *Store, key string) (value string, token uint64) {
	t.Helper()
	value = lease.NewValue("node")
	at := try(t, s, key, value)
	require.True(t, at.Acquired)
	return value, at.Token
}

func release(ctx context.Context, s *Store, r lease.Release) (verdict error) {
	s.Release(ctx, []lease.Release{r}, func(_ int, err error) { verdict = err })
	return verdict
}

func extend(ctx context.Context, s *Store, e lease.Extension) (verdict error) {
	s.Extend(ctx, []lease.Extension{e}, func(_ int, err error) { verdict = err })
	return verdict
}

func kindOf(t *testing.T, err error) lease.Kind {
	t.Helper()
	var e *lease.StoreError
	require.ErrorAs(t, err, &e)
	return e.Kind
}

// brief is a context that ends soon.
func brief(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// client is one of a user's: with the defaults.
func client(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// storedToken reads what stands beside a lock.
func storedToken(t *testing.T, server *redistest.Server, key string) uint64 {
	t.Helper()
	n, err := server.Client(t).Get(t.Context(), fenceKey(key)).Uint64()
	require.NoError(t, err)
	return n
}

// log gathers what a store logs.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *log) count(text string) int { return strings.Count(l.String(), text) }

func (l *log) option() Option {
	return Logger(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

// wakes counts wake-ups by origin.
type wakes struct {
	mu   sync.Mutex
	seen map[string]int
}

func (w *wakes) wake(origin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]int{}
	}
	w.seen[origin]++
}

func (w *wakes) count(origin string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[origin]
}
