package actors_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// Re-entry right after the outer lease was lost fails as lost, and touches
// nothing of the new owner's key.
//
// contract 6.3
func TestCase_B074(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		faulty := leasetest.NewFaulty(mem)
		store := newSpy(faulty)
		m := newManager(t, store, actorlock.TTL(3*time.Second), actorlock.AwaitCallback())
		inner := func(ctx context.Context) {
			calls := store.commands()
			var lost *actorlock.LockLostError
			require.ErrorAs(t, m.WithLock(ctx, "k", never(t)), &lost)
			require.Equal(t, "k", lost.Key)
			_, err := m.Acquire(ctx, "k")
			require.ErrorAs(t, err, &lost)
			require.Equal(t, calls, store.commands())
		}
		// Told by an extension.
		err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			foreign(mem, "k", time.Hour)
			<-ctx.Done()
			inner(ctx)
			return nil
		})
		require.ErrorIs(t, err, actorlock.ErrLeaseTaken)
		pass(time.Second)
		require.Equal(t, "other", peek(t, mem, "k").Holder)
		require.Greater(t, peek(t, mem, "k").TTL, 59*time.Minute)
		mem.Delete("k")

		// Stolen, and nobody knows yet: the nested callback runs in the outer
		// one's lease, without a word to the store; the release finds out.
		err = m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			foreign(mem, "k", time.Hour)
			return m.WithLock(ctx, "k", nothing)
		})
		require.ErrorIs(t, err, actorlock.ErrLeaseTaken)
		require.Equal(t, "other", peek(t, mem, "k").Holder)
		mem.Delete("k")

		// Cut off until the deadline, and taken after the expiry.
		err = m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			faulty.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true}))
			<-ctx.Done()
			foreign(mem, "k", time.Hour)
			inner(ctx)
			return nil
		})
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
		pass(time.Second)
		require.Equal(t, "other", peek(t, mem, "k").Holder)
	})
}

// A goroutine that the callback starts with its context shares the lock while
// it lasts, beside the callback, and waits like anybody once it has ended.
//
// contract 6.2
// contract 6.3
func TestCase_B076(t *testing.T) {
	store := newSpy(memstore.New())
	m := newManager(t, store, retryForever)
	var kept context.Context
	var beside sync.WaitGroup
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		kept = ctx
		inside := make(chan struct{})
		for range 10 {
			beside.Go(func() {
				if err := m.WithLock(ctx, "k", func(ctx context.Context) error {
					inside <- struct{}{}
					return ctx.Err()
				}); err != nil {
					t.Error(err)
				}
			})
		}
		for range 10 {
			<-inside // while this one runs
		}
		beside.Wait()
		return nil
	}))
	require.Len(t, store.attempts(), 1)

	require.ErrorIs(t, m.WithLock(kept, "k", never(t)), actorlock.ErrReleased, "its context has ended")
	h := hold(t, m, "k")
	free := make(chan struct{})
	late := make(chan error, 1)
	go func() {
		late <- m.WithLock(context.WithoutCancel(kept), "k", func(context.Context) error {
			select {
			case <-free:
			default:
				t.Error("it was let in beside the holder")
			}
			return nil
		})
	}()
	queued(t, m, "k", 1)
	close(free)
	require.NoError(t, h.let())
	require.NoError(t, <-late)
}

// A nested call that does not carry the callback's context waits, up to its
// deadline, and the outer one is none the worse.
//
// contract 6.4
func TestCase_B077(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memstore.New()
		m := newManager(t, store)
		begin := time.Now()
		require.NoError(t, m.WithLock(t.Context(), "k", func(outer context.Context) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			err := m.WithLock(ctx, "k", never(t))
			require.ErrorIs(t, err, actorlock.ErrHeld)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, time.Second, time.Since(begin))
			return outer.Err()
		}))
		require.Zero(t, store.Len())
		require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.RetryAttempts(0)))
	})
}
