package actors_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// goroutine is the name of the one that runs.
func goroutine() string {
	buf := make([]byte, 64)
	buf = buf[:runtime.Stack(buf, false)]
	name, _, _ := bytes.Cut(buf, []byte(" ["))
	return string(name)
}

// contract 6.1: a nested call runs at once, in the same goroutine, without a
// command; its options are ignored, bad ones included.
func TestReentryRunsAtOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		value, err := actorlock.WithLock(t.Context(), m, "k", func(ctx context.Context) (int, error) {
			outer := goroutine()
			before := time.Now()
			var deep func(ctx context.Context, level int) (int, error)
			deep = func(ctx context.Context, level int) (int, error) {
				if level == 0 {
					return 42, errMine
				}
				return actorlock.WithLock(ctx, m, "k", func(inner context.Context) (int, error) {
					require.Equal(t, outer, goroutine())
					require.Equal(t, ctx.Done(), inner.Done(), "no cancel of its own")
					return deep(inner, level-1)
				}, actorlock.TTL(-1), actorlock.RetryAttempts(-5), actorlock.RetryDelay(-1))
			}
			value, err := deep(ctx, 500)
			require.Equal(t, 42, value)
			require.Equal(t, errMine, err, "untouched")
			require.Equal(t, before, time.Now())
			require.Equal(t, 1, f.Calls(leasetest.OpAcquire))
			require.Zero(t, f.Calls(leasetest.OpRelease))
			return value, nil
		})
		require.NoError(t, err)
		require.Equal(t, 42, value)
		// contract 6.5: released once.
		require.Equal(t, 1, f.Calls(leasetest.OpRelease))
	})
}

// contract 6.1: with other keys in between; 6.5: each is released when its own
// outermost callback settles.
func TestReentryWithOtherKeysBetween(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		err := m.WithLock(t.Context(), "A", func(a context.Context) error {
			err := m.WithLock(a, "B", func(b context.Context) error {
				return m.WithLock(b, "A", func(again context.Context) error {
					return m.WithLock(again, "B", func(context.Context) error { return nil })
				})
			})
			require.True(t, peek(t, mem, "A").Held)
			require.False(t, peek(t, mem, "B").Held)
			require.Equal(t, 2, f.Calls(leasetest.OpAcquire))
			require.Equal(t, 1, f.Calls(leasetest.OpRelease))
			return err
		})
		require.NoError(t, err)
		require.Zero(t, mem.Len())
		require.Equal(t, 2, f.Calls(leasetest.OpRelease))
	})
}

// contract 6.1: no traffic, counted at the server.
func TestReentryInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	m := redisManager(t, srv)
	h := holding(t, t.Context(), m, "k")
	monitor := srv.Monitor(t)
	for range 100 {
		require.NoError(t, m.WithLock(h.ctx, "k", func(context.Context) error { return nil }))
	}
	require.Empty(t, monitor.Lines())
	h.release()
}

// contract 6.1: a panic in a nested call passes on as it is.
func TestReentryPanic(t *testing.T) {
	m := newManager(t, memstore.New())
	err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		require.PanicsWithValue(t, "as it is", func() {
			_ = m.WithLock(ctx, "k", func(context.Context) error { panic("as it is") })
		})
		require.NoError(t, ctx.Err())
		return nil
	})
	require.NoError(t, err)
}

// contract 6.1: lineage is looked at before ctx.
func TestReentryWithADoneContext(t *testing.T) {
	m := newManager(t, memstore.New())
	h := holding(t, t.Context(), m, "k")
	ctx, cancel := context.WithCancel(h.ctx)
	cancel()
	ran := false
	err := m.WithLock(ctx, "k", func(inner context.Context) error {
		ran = true
		require.ErrorIs(t, inner.Err(), context.Canceled)
		return nil
	})
	require.NoError(t, err)
	require.True(t, ran)
	h.cancel(nil) // the caller's ends too, and the lock is still held
	require.NoError(t, m.WithLock(h.ctx, "k", func(context.Context) error { return nil }))
	h.release()
}

// contract 6.4: any other call waits for the lock: another request, another
// manager of the process, a context without the lineage.
func TestReentryIsForTheLineageOnly(t *testing.T) {
	store := memstore.New()
	m, other := newManager(t, store), newManager(t, store)
	once := actorlock.RetryAttempts(0)
	nothing := func(context.Context) error { t.Error("ran"); return nil }
	h := holding(t, t.Context(), m, "k")
	require.ErrorIs(t, m.WithLock(t.Context(), "k", nothing, once), actorlock.ErrHeld)
	require.ErrorIs(t, m.WithLock(context.Background(), "k", nothing, once), actorlock.ErrHeld)
	require.ErrorIs(t, other.WithLock(h.ctx, "k", nothing, once), actorlock.ErrHeld)
	require.ErrorIs(t, other.WithLock(t.Context(), "k", nothing, once), actorlock.ErrHeld)
	ran := false
	require.NoError(t, m.WithLock(h.ctx, "another", func(ctx context.Context) error {
		ran = true
		return m.WithLock(context.WithoutCancel(ctx), "k", func(context.Context) error { return nil })
	}), "a lineage passes through WithoutCancel")
	require.True(t, ran)
	h.release()
}
