package actors_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 2.2
func TestDefaultsMakeElevenAttemptsInTwoSeconds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		store := newSpy(deaf{inner})
		m := newManager(t, store)
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t))
		took := time.Since(begin)

		require.ErrorIs(t, err, actorlock.ErrHeld)
		e := refused(t, err)
		require.Equal(t, 11, e.Attempts)
		require.Equal(t, took, e.Waited)
		require.LessOrEqual(t, took, 2*time.Second)
		require.GreaterOrEqual(t, took, 1800*time.Millisecond)

		asks := store.attempts()
		require.Len(t, asks, 11)
		require.Equal(t, begin, asks[0].at, "the first attempt at once")
		jittered := false
		for i := range asks[1:] {
			gap := asks[i+1].at.Sub(asks[i].at)
			require.LessOrEqual(t, gap, 200*time.Millisecond)
			require.GreaterOrEqual(t, gap, 180*time.Millisecond)
			jittered = jittered || gap != 200*time.Millisecond
			require.Equal(t, asks[0].request.Value, asks[i+1].request.Value)
		}
		require.True(t, jittered)
	})
}

// contract 2.2
func TestCallbackRunsOnceTheLockIsFree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", 1700*time.Millisecond)
		m := newManager(t, deaf{inner})
		begin := time.Now()
		ran := false
		require.NoError(t, m.WithLock(t.Context(), "k", func(context.Context) error { ran = true; return nil }))
		require.True(t, ran)
		require.InDelta(t, 1700*time.Millisecond, time.Since(begin), float64(5*time.Millisecond))
	})
}

// flooding is a store whose watches are told of something every 50 µs.
type flooding struct{ lease.Store }

func (f flooding) Watch(_ string, wake func(string)) func() {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(50 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				wake("someone")
			case <-stop:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop); <-ended })
}

// contract 2.2
// contract 2.6
func TestFloodOfHintsIsNoFloodOfCommands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		store := newSpy(flooding{inner})
		m := newManager(t, store)
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(4), actorlock.RetryDelay(50*time.Millisecond))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		require.Equal(t, 5, refused(t, err).Attempts, "wake-ups cost no attempt of the budget")
		require.LessOrEqual(t, time.Since(begin), 200*time.Millisecond, "wake-ups do not prolong the wait")

		asks := store.attempts()
		require.Greater(t, len(asks), 50, "each wake-up may start an attempt")
		require.LessOrEqual(t, len(asks), 206)
		for i := range asks[1:] {
			gap := asks[i+1].at.Sub(asks[i].at)
			due := i+1 < len(asks)-1 && gap < time.Millisecond // a due time of the budget
			require.True(t, gap >= time.Millisecond || due || i+1 == len(asks)-1, "gap %v before %d of %d", gap, i+1, len(asks))
		}
	})
}

// contract 2.2
func TestDueTimesAreAMillisecondApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		for _, delay := range []time.Duration{0, 1, 999 * time.Microsecond, time.Millisecond} {
			store := newSpy(deaf{inner})
			m := newManager(t, store)
			begin := time.Now()
			err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryDelay(delay), actorlock.RetryAttempts(20))
			require.Equal(t, 21, refused(t, err).Attempts)
			require.Equal(t, 20*time.Millisecond, time.Since(begin))
			asks := store.attempts()
			require.Len(t, asks, 21)
			for i := range asks[1:] {
				require.GreaterOrEqual(t, asks[i+1].at.Sub(asks[i].at), time.Millisecond)
			}
		}
	})
}

// contract 2.2
func TestAttemptInFlightCountsForTheDueTimesThatPass(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		slow := leasetest.NewFaulty(deaf{inner})
		slow.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Before: 450 * time.Millisecond}))
		m := newManager(t, slow)
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(5))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		require.Equal(t, 6, refused(t, err).Attempts)
		require.LessOrEqual(t, time.Since(begin), time.Second+450*time.Millisecond, "the attempts, and one command")
		require.LessOrEqual(t, slow.Calls(leasetest.OpAcquire), 4)
	})
}

// contract 2.2
func TestGivesUpInTimeWhenTheStoreHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hung := leasetest.NewFaulty(memstore.New())
		hung.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Hang: true}))
		m := newManager(t, hung)
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(5))
		e := refused(t, err)
		require.Equal(t, 6, e.Attempts)
		require.NotErrorIs(t, err, actorlock.ErrHeld)
		require.LessOrEqual(t, time.Since(begin), 4*time.Second, "a second of attempts and the three that one command has")
	})
}

// contract 2.3
func TestNoRetryMeansOneAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		store := newSpy(inner)
		m := newManager(t, store)
		foreign(inner, "k", lease.NoExpiry)
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		e := refused(t, err)
		require.Equal(t, 1, e.Attempts)
		require.Equal(t, "other", e.Holder)
		require.Zero(t, time.Since(begin))
		require.Len(t, store.attempts(), 1)

		inner.Delete("k")
		require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.RetryAttempts(0)))
	})
}

// contract 2.3
func TestNoRetryIsRefusedUnaskedWhileThisNodeHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := newSpy(memstore.New())
		m := startManager(t, actorlock.Config{Store: store, Node: "here"})
		h := hold(t, m, "k", actorlock.TTL(20*time.Second))
		before := store.commands()
		pass(2 * time.Second)
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		e := refused(t, err)
		require.Equal(t, &actorlock.AcquireError{Key: "k", Attempts: 1, Holder: "here", TTL: 18 * time.Second, Err: actorlock.ErrHeld}, e)
		require.Equal(t, before, store.commands())
		require.NoError(t, h.let())
	})
}

// contract 2.3
func TestNoRetryIsRefusedUnaskedBehindWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", time.Hour)
		store := newSpy(inner)
		m := newManager(t, store)
		w := start(m, "k", nothing, retryForever, actorlock.RetryDelay(time.Hour))
		pass(time.Second)
		before := store.commands()
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		require.Equal(t, "other", refused(t, err).Holder)
		require.Equal(t, before, store.commands())
		w.cancel(nil)
		require.ErrorIs(t, w.wait(), context.Canceled)
	})
}

// contract 2.3
// A call that has left nothing but a command behind is no reason to refuse.
func TestNoRetryBehindAnAbandonedCommand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := leasetest.NewFaulty(memstore.New())
		slow.On(leasetest.OpAcquire, leasetest.Times(1, leasetest.Fault{After: time.Second}))
		m := newManager(t, slow)
		w := start(m, "k", never(t))
		synctest.Wait()
		w.cancel(nil)
		require.Error(t, w.wait())
		require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.RetryAttempts(0)))
	})
}

// contract 2.4
func TestRetryForever(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		m := newManager(t, deaf{inner})
		w := start(m, "k", nothing, retryForever, actorlock.RetryDelay(time.Minute))
		pass(3 * time.Hour)
		require.False(t, w.settled())
		inner.Delete("k")
		pass(time.Minute)
		require.True(t, w.settled())
		require.NoError(t, w.err)

		foreign(inner, "k", lease.NoExpiry)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		err := m.WithLock(ctx, "k", never(t), retryForever, actorlock.RetryDelay(math.MaxInt64))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, actorlock.ErrHeld)
	})
}
