package actors_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 10.3: the manual form is renewed like any other; its context has the
// values of ctx and not its end.
func TestLockIsHeldUntilReleased(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		type tag struct{}
		m := startManager(t, actorlock.Config{Store: f, Prefix: "p:"})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), tag{}, 7), time.Second)
		defer cancel()
		l, err := m.Acquire(ctx, "k", actorlock.TTL(time.Second))
		require.NoError(t, err)
		deadline := l.Lease().Deadline()
		time.Sleep(10 * time.Second)
		require.Error(t, ctx.Err())
		require.NoError(t, l.Context().Err())
		_, ok := l.Context().Deadline()
		require.False(t, ok)
		require.Equal(t, 7, l.Context().Value(tag{}))
		require.GreaterOrEqual(t, peek(t, mem, "p:k").TTL, time.Second/2)
		require.Equal(t, "k", l.Lease().Key)
		require.True(t, l.Lease().Deadline().After(deadline))
		inner, _ := actorlock.LeaseFrom(l.Context())
		require.Equal(t, l.Lease(), inner)

		require.NoError(t, l.Release(ctx), "with a ctx that is done")
		require.False(t, peek(t, mem, "p:k").Held)
		require.Equal(t, actorlock.ErrReleased, context.Cause(l.Context()))
		require.NoError(t, l.Release(t.Context()), "again")
		require.Equal(t, 1, f.Calls(leasetest.OpRelease))
	})
}

// contract 10.3: ctx bounds the wait; the options are the usual ones.
func TestLockWaits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		h := holding(t, t.Context(), m, "k")
		_, err := m.Acquire(t.Context(), "k", actorlock.RetryAttempts(0))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		_, err = m.Acquire(t.Context(), "k", actorlock.TTL(0))
		require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
		_, err = m.Acquire(t.Context(), "")
		require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		_, err = m.Acquire(ctx, "k", actorlock.RetryAttempts(forever))
		require.Equal(t, time.Minute, time.Since(begin))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, actorlock.ErrHeld)
		var l *actorlock.Lock
		got := make(chan struct{})
		go func() {
			defer close(got)
			l, err = m.Acquire(t.Context(), "k")
		}()
		time.Sleep(time.Millisecond)
		h.release()
		<-got
		require.NoError(t, err, "the same queue")
		require.Greater(t, l.Lease().Token, h.token())
		require.Equal(t, 1, f.Calls(leasetest.OpAcquire), "handed over")
		require.NoError(t, l.Release(t.Context()))
	})
}

// contract 10.3: after a loss Release returns it, every time.
func TestLockLost(t *testing.T) {
	const ttl = 3 * time.Second
	for name, tt := range map[string]struct {
		end    func(f *leasetest.Faulty, mem *memstore.Store, m *actorlock.Manager)
		reason error
	}{
		"noticed by an extension": {func(_ *leasetest.Faulty, mem *memstore.Store, _ *actorlock.Manager) {
			mem.Delete("k")
			time.Sleep(ttl)
		}, actorlock.ErrLeaseGone},
		"found by the release": {func(_ *leasetest.Faulty, mem *memstore.Store, _ *actorlock.Manager) {
			mem.Steal("k", "other/1", time.Hour)
		}, actorlock.ErrLeaseTaken},
		"an error": {func(f *leasetest.Faulty, _ *memstore.Store, _ *actorlock.Manager) {
			f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Err: io.EOF}))
			time.Sleep(ttl / 2)
		}, io.EOF},
		"shutdown": {func(_ *leasetest.Faulty, _ *memstore.Store, m *actorlock.Manager) {
			_ = m.Shutdown(context.Background())
		}, actorlock.ErrShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
				m := newManager(t, f, actorlock.TTL(ttl))
				l, err := m.Acquire(t.Context(), "k")
				require.NoError(t, err)
				tt.end(f, mem, m)
				for range 3 {
					err := l.Release(t.Context())
					require.ErrorAs(t, err, new(*actorlock.LockLostError))
					require.ErrorIs(t, err, tt.reason)
				}
				require.Error(t, l.Context().Err())
				time.Sleep(time.Millisecond)
				require.NotContains(t, peek(t, mem, "k").Holder, l.Lease().Node, "deleted after the loss")
			})
		})
	}
}

// contract 10.3: a Lock is shared by goroutines; a ctx that ends during the
// release ends the wait for it alone.
func TestLockReleasedByMany(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		l, err := m.Acquire(t.Context(), "k")
		require.NoError(t, err)
		f.On(leasetest.OpRelease, leasetest.Always(leasetest.Fault{Before: time.Second}))
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, l.Release(ctx), context.DeadlineExceeded)
		wg.Wait()
		require.False(t, peek(t, mem, "k").Held)
		require.Equal(t, 1, f.Calls(leasetest.OpRelease))
	})
}

// contract 10.3: inside a lineage it shares the lease, and its Release ends
// nothing but its own context.
func TestLockInsideALineage(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Second))
		outer, err := m.Acquire(t.Context(), "k")
		require.NoError(t, err)
		shared, err := m.Acquire(outer.Context(), "k", actorlock.TTL(-1))
		require.NoError(t, err)
		require.Equal(t, outer.Lease(), shared.Lease())
		require.NoError(t, m.WithLock(shared.Context(), "k", func(context.Context) error { return nil }))
		require.NoError(t, shared.Release(t.Context()))
		require.NoError(t, shared.Release(t.Context()))
		require.Equal(t, actorlock.ErrReleased, context.Cause(shared.Context()))
		require.NoError(t, outer.Context().Err())
		require.True(t, peek(t, mem, "k").Held)

		late, err := m.Acquire(outer.Context(), "k")
		require.NoError(t, err)
		require.NoError(t, outer.Release(t.Context()))
		require.Equal(t, actorlock.ErrReleased, context.Cause(late.Context()))
		require.NoError(t, late.Release(t.Context()))
		require.Equal(t, 1, f.Calls(leasetest.OpAcquire))

		h := holding(t, t.Context(), m, "k")
		inner, err := m.Acquire(h.ctx, "k")
		require.NoError(t, err)
		mem.Delete("k")
		_, err = h.outcome()
		require.ErrorIs(t, err, actorlock.ErrLeaseGone)
		require.ErrorIs(t, context.Cause(inner.Context()), actorlock.ErrLeaseGone)
		for range 2 {
			require.ErrorIs(t, inner.Release(t.Context()), actorlock.ErrLeaseGone)
		}
	})
}

// contract 10.3: the same shutdown.
func TestLockAtShutdown(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		l, err := m.Acquire(t.Context(), "k")
		require.NoError(t, err)
		require.NoError(t, m.Shutdown(t.Context()))
		require.False(t, peek(t, mem, "k").Held)
		var lost *actorlock.LockLostError
		require.True(t, errors.As(context.Cause(l.Context()), &lost))
		require.ErrorIs(t, lost, actorlock.ErrShutdown)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = m.Acquire(ctx, "k")
		require.ErrorIs(t, err, actorlock.ErrShutdown)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// contract 10.3 in Redis.
func TestLockInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	m := redisManager(t, srv)
	l, err := m.Acquire(t.Context(), "k", actorlock.TTL(500*time.Millisecond))
	require.NoError(t, err)
	select {
	case <-l.Context().Done():
		require.NoError(t, context.Cause(l.Context()))
	case <-time.After(time.Second):
	}
	require.EqualValues(t, 1, other.Exists(t.Context(), "k").Val())
	require.NoError(t, l.Release(t.Context()))
	require.Zero(t, other.Exists(t.Context(), "k").Val())
}
