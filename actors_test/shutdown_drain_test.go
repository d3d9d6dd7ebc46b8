package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 8.3: Drain lets running callbacks end, with all that is called on
// behalf of their leases, and waits for them.
func TestDrainWaitsForCallbacks(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Second), actorlock.RetryAttempts(forever))
		h := holding(t, t.Context(), m, "k")
		mem.Steal("busy", "other/1", 2*time.Second)
		waiting := queueUp(t, h.ctx, m, "busy") // in the lineage, and waiting already
		stranger := queueUp(t, t.Context(), m, "k")
		time.Sleep(time.Millisecond)
		drained := make(chan error, 1)
		go func() { drained <- m.Drain(t.Context()) }()
		time.Sleep(10 * time.Second)
		require.Empty(t, drained)
		require.NoError(t, h.ctx.Err())
		require.False(t, isClosed(stranger.in))
		waiting.granted()
		nested := holding(t, h.ctx, m, "k")
		other := holding(t, h.ctx, m, "another key")
		nested.release()
		other.release()
		waiting.release()
		h.release()
		require.NoError(t, <-drained)
		require.Zero(t, mem.Len())
		require.False(t, isClosed(stranger.done))
		require.NoError(t, m.Drain(t.Context()), "again")
		require.NoError(t, m.Shutdown(t.Context()))
	})
}

// contract 8.3: a lineage without a live lease of this manager is no exemption.
func TestDrainExemptsLiveLeasesOnly(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := startManager(t, actorlock.Config{Store: f, FailAfterShutdown: true})
		elsewhere := newManager(t, f)
		old := holding(t, t.Context(), m, "old")
		old.release()
		foreign := holding(t, t.Context(), elsewhere, "foreign")
		lock, err := m.Acquire(t.Context(), "manual")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, m.Drain(ctx), context.DeadlineExceeded, "a lock is held")
		for _, ctx := range []context.Context{t.Context(), context.WithoutCancel(old.ctx), foreign.ctx} {
			err := m.WithLock(ctx, "k", func(context.Context) error { t.Error("ran"); return nil })
			require.ErrorIs(t, err, actorlock.ErrShutdown)
		}
		require.NoError(t, m.WithLock(lock.Context(), "k", func(context.Context) error { return nil }))
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, m.Drain(t.Context()))
	})
}

// contract 8.3: it returns the ctx error; Shutdown is still the next step.
func TestDrainEndsWithItsContext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		h := holding(t, t.Context(), m, "k")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		require.ErrorIs(t, m.Drain(ctx), context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begin))
		require.NoError(t, h.ctx.Err())
		require.NoError(t, m.Shutdown(t.Context()))
		_, err := h.outcome()
		require.ErrorIs(t, err, actorlock.ErrShutdown)
	})
}

// contract 8.1, 8.3: a callback that Drain has waited for was not lost by the
// Shutdown that follows.
func TestShutdownRightAfterDrain(t *testing.T) {
	for range 300 {
		m, err := actorlock.New(actorlock.Config{Store: memstore.New(), Logger: quietLogger(t).Logger})
		require.NoError(t, err)
		in, end := make(chan struct{}), make(chan struct{})
		c := start(m, "k", func(context.Context) error { close(in); <-end; return nil })
		<-in
		go close(end)
		require.NoError(t, m.Drain(t.Context()))
		require.NoError(t, m.Shutdown(t.Context()))
		require.NoError(t, c.wait())
	}
}
