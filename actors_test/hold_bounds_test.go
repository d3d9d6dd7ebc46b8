package actors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// A callback that hangs does not keep its lock for ever: after MaxHold it is
// told, others get the key once the TTL is over, and nothing renews it.
func TestMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		store := &recorder{Store: mem}
		m := newManager(t, store, actorlock.TTL(time.Second), actorlock.MaxHold(10*time.Second))
		h := holding(t, t.Context(), m, "k")
		begin := time.Now()
		_, err := h.outcome()
		require.ErrorIs(t, err, actorlock.ErrHeldTooLong)
		var lost *actorlock.LockLostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, 10*time.Second, time.Since(begin).Round(about))
		require.ErrorIs(t, context.Cause(h.ctx), actorlock.ErrHeldTooLong)

		// It still hangs: the key stands for no longer than its TTL.
		renewals := len(store.seen().extends)
		next := holding(t, t.Context(), m, "k")
		require.LessOrEqual(t, time.Since(begin), 11*time.Second+about)
		require.Len(t, store.seen().extends, renewals)
		next.release()
	})
}

// One that returns later than MaxHold frees the key at once.
func TestMaxHoldThenReturns(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}, actorlock.MaxHold(time.Second), actorlock.AwaitCallback())
		require.ErrorIs(t, err, actorlock.ErrHeldTooLong)
		synctest.Wait()
		require.False(t, peek(t, mem, "k").Held)
		require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.MaxHold(time.Second)))
	})
}

// Each holder of a lease that is handed over has a MaxHold of its own.
func TestMaxHoldCountsFromTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManager(t, memstore.New(), actorlock.MaxHold(time.Second), retryForever)
		var ends []<-chan struct{}
		for range 4 {
			c := start(m, "k", func(context.Context) error { pass(700 * time.Millisecond); return nil })
			ends = append(ends, c.done)
			defer func() { require.NoError(t, c.err) }()
		}
		for _, end := range ends {
			<-end
		}
	})
}

func TestMaxWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManager(t, memstore.New(), retryForever)
		h := hold(t, m, "k")
		two := actorlock.MaxWaiters(2)
		first, second := start(m, "k", nothing, two), start(m, "k", nothing, two)
		queued(t, m, "k", 2)
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t), two)
		require.ErrorIs(t, err, actorlock.ErrTooManyWaiters)
		require.False(t, errors.Is(err, actorlock.ErrHeld))
		require.Zero(t, time.Since(begin), "at once")
		refused(t, err)
		require.NoError(t, m.WithLock(t.Context(), "other", nothing, two), "each key by itself")
		third := start(m, "k", nothing, actorlock.MaxWaiters(3))
		queued(t, m, "k", 3)
		require.NoError(t, h.let())
		for _, c := range []*call{first, second, third} {
			require.NoError(t, c.wait())
		}
		require.NoError(t, m.WithLock(t.Context(), "k", nothing, two))
	})
}

func TestBoundsAreChecked(t *testing.T) {
	m := newManager(t, nil)
	for field, opt := range map[string]actorlock.Option{"MaxHold": actorlock.MaxHold(0), "MaxWaiters": actorlock.MaxWaiters(0)} {
		err := m.WithLock(t.Context(), "k", never(t), opt)
		require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
}
