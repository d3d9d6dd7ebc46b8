package actors_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 6.2: goroutines of the callback are in the lineage, and run beside it.
func TestReentryOfGoroutines(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			var wg sync.WaitGroup
			var inside, most atomic.Int32
			for range 10 {
				wg.Go(func() {
					err := m.WithLock(ctx, "k", func(context.Context) error {
						most.Store(max(most.Load(), inside.Add(1)))
						time.Sleep(time.Second)
						inside.Add(-1)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			begin := time.Now()
			wg.Wait()
			require.Equal(t, time.Second, time.Since(begin))
			require.Greater(t, most.Load(), int32(1))
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 1, f.Calls(leasetest.OpAcquire))
	})
}

// contract 6.2: when the outer callback settles first, their context ends with
// ErrReleased, and their call returns its value with a loss.
func TestReentryOutlivesTheOuterCallback(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		for _, want := range []error{nil, errMine} {
			h := holding(t, t.Context(), m, "k")
			inner := queueUp(t, h.ctx, m, "k")
			inner.granted()
			h.release()
			require.False(t, peek(t, mem, "k").Held, "contract 6.5: when the outermost callback settles")
			<-inner.ctx.Done()
			require.Equal(t, actorlock.ErrReleased, context.Cause(inner.ctx))
			require.False(t, isClosed(inner.done))
			inner.settle(7, want)
			value, err := inner.outcome()
			require.Equal(t, 7, value)
			var e *actorlock.LockLostError
			require.ErrorAs(t, err, &e)
			require.Equal(t, actorlock.ErrReleased, e.Err)
			require.Equal(t, want, e.Callback)
		}
	})
}

// contract 6.2: entering and settling are one atomic step: a nested call that
// reports no loss was inside all the time, and one that comes too late is a call
// like any other.
func TestReentryRacesWithSettling(t *testing.T) {
	m := newManager(t, memstore.New(), actorlock.RetryAttempts(forever))
	var inside, nested, own atomic.Int32
	for range 500 {
		var wg sync.WaitGroup
		err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			outer, _ := actorlock.LeaseFrom(ctx)
			started := make(chan struct{})
			wg.Go(func() {
				close(started)
				for alone := false; !alone; {
					var l uint64
					err := m.WithLock(context.WithoutCancel(ctx), "k", func(ctx context.Context) error {
						inner, _ := actorlock.LeaseFrom(ctx)
						if l = inner.Token; l != outer.Token && inside.Add(1) != 1 {
							t.Error("two holders")
						}
						return nil
					})
					var lost *actorlock.LockLostError
					switch {
					case l == outer.Token:
						nested.Add(1)
						if err != nil && (!asLost(err, &lost) || lost.Err != actorlock.ErrReleased) {
							t.Error(err)
						}
					case err != nil:
						t.Error("not a call like any other:", err)
						return
					default:
						alone = true
						own.Add(1)
						inside.Add(-1)
					}
				}
			})
			<-started
			return nil
		})
		require.NoError(t, err)
		wg.Wait()
	}
	t.Logf("%d within, %d on their own", nested.Load(), own.Load())
	require.EqualValues(t, 500, own.Load())
}

func asLost(err error, e **actorlock.LockLostError) bool {
	l, ok := err.(*actorlock.LockLostError)
	*e = l
	return ok
}

// contract 6.3: a lineage ends with its lease: a context that was kept gives no
// access, with its end or without it.
func TestReentryWithAKeptContext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		old := holding(t, t.Context(), m, "k")
		old.release()
		kept := context.WithoutCancel(old.ctx)
		h := holding(t, t.Context(), m, "k")
		never := func(context.Context) error { t.Error("ran"); return nil }
		require.ErrorIs(t, m.WithLock(kept, "k", never, actorlock.RetryAttempts(0)), actorlock.ErrHeld)
		err := m.WithLock(old.ctx, "k", never)
		require.ErrorIs(t, err, context.Canceled, "an ended ctx like any other")
		require.ErrorIs(t, err, actorlock.ErrReleased)
		waits := queueUp(t, kept, m, "k")
		time.Sleep(time.Second)
		require.False(t, isClosed(waits.in))
		h.release()
		waits.granted()
		require.Greater(t, waits.token(), h.token())
		waits.release()
	})
}

// contract 6.3: after a loss re-entry returns the loss and runs nothing.
func TestReentryAfterALoss(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Second))
		h := holding(t, t.Context(), m, "k")
		mem.Delete("k")
		_, lost := h.outcome()
		for _, ctx := range []context.Context{h.ctx, context.WithoutCancel(h.ctx)} {
			err := m.WithLock(ctx, "k", func(context.Context) error { t.Error("ran"); return nil })
			require.ErrorAs(t, err, new(*actorlock.LockLostError))
			require.ErrorIs(t, err, actorlock.ErrLeaseGone)
			_, err = m.Acquire(ctx, "k")
			require.ErrorIs(t, err, actorlock.ErrLeaseGone)
		}
		require.ErrorIs(t, lost, actorlock.ErrLeaseGone)
		require.Equal(t, 1, f.Calls(leasetest.OpAcquire))
	})
}

// contract 6.3: and after a shutdown too.
func TestReentryAfterShutdown(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		h := holding(t, t.Context(), m, "k")
		require.NoError(t, m.Shutdown(t.Context()))
		for _, ctx := range []context.Context{h.ctx, context.WithoutCancel(h.ctx)} {
			err := m.WithLock(ctx, "k", func(context.Context) error { t.Error("ran"); return nil })
			require.ErrorAs(t, err, new(*actorlock.LockLostError))
			require.ErrorIs(t, err, actorlock.ErrShutdown)
		}
	})
}
