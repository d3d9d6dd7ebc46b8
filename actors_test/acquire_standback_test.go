package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 1.2, 2.8: a wait that ends while the node stands back for others
// ends with ErrHeld; the store was never without an answer.
func TestWaitEndsWhileStandingBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		first, second := newManager(t, mem), newManager(t, mem)
		h := hold(t, first, "k")
		free := make(chan struct{})
		other := start(second, "k", func(context.Context) error { <-free; return nil })
		queued(t, second, "k", 1)
		third := start(first, "k", never(t), actorlock.Wait(62*time.Millisecond))
		pass(60 * time.Millisecond)
		require.NoError(t, h.let())
		require.ErrorIs(t, third.wait(), actorlock.ErrHeld)
		close(free)
		require.NoError(t, other.wait())
	})
}

// contract 2.8: a wait behind a holder of this node that ends before anything
// else is known of the key ends with ErrHeld.
func TestWaitEndsAfterTheHoldersRelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := leasetest.NewFaulty(memstore.New())
		m := newManager(t, store, actorlock.HandOver(false))
		done := make(chan error, 1)
		go func() {
			done <- m.WithLock(t.Context(), "k", func(context.Context) error { pass(50 * time.Millisecond); return nil })
		}()
		synctest.Wait()
		store.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Before: time.Second}))
		err := m.WithLock(t.Context(), "k", never(t), actorlock.Wait(100*time.Millisecond))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		require.NoError(t, <-done)
	})
}
