package actors_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 2.6
func TestReleaseWakesTheOtherManager(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newManager(t, store), newManager(t, store)
		h := hold(t, a, "k")
		w := start(b, "k", nothing, retryForever, actorlock.RetryDelay(time.Hour))
		pass(time.Minute)
		require.False(t, w.settled())
		require.NoError(t, h.let())
		pass(5 * time.Millisecond)
		require.True(t, w.settled())
		require.NoError(t, w.err)
	})
}

// contract 2.6
func TestReleaseWakesTheOtherManagerInRedis(t *testing.T) {
	srv := redisServer(t)
	a, b := redisManager(t, srv), redisManager(t, srv)
	h := hold(t, a, "k")
	w := start(b, "k", nothing, retryForever, actorlock.RetryDelay(time.Hour))
	look := srv.Client(t)
	eventually(t, func() bool { return len(look.PubSubChannels(t.Context(), "*").Val()) == 1 })
	require.NoError(t, h.let())
	require.NoError(t, w.wait())
	require.Less(t, w.took, time.Minute)
	// Nobody waits, and nothing of it is left.
	eventually(t, func() bool { return len(look.PubSubChannels(t.Context(), "*").Val()) == 0 })
}

// contract 2.6
func TestReleasePassesFromNodeToNodeFast(t *testing.T) {
	srv := redisServer(t)
	a, b := redisManager(t, srv), redisManager(t, srv)
	const delay = time.Second
	begin := time.Now()
	for range 10 {
		h := hold(t, a, "k", actorlock.RetryDelay(delay), retryForever)
		w := start(b, "k", nothing, actorlock.RetryDelay(delay), retryForever)
		queued(t, b, "k", 1)
		require.NoError(t, h.let())
		require.NoError(t, w.wait())
	}
	require.Less(t, time.Since(begin), 10*delay/2, "well under a delay each")
}

// contract 2.6
func TestCrashedHoldersKeyIsTakenAtItsExpiry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		store := newSpy(inner)
		m := newManager(t, store)
		foreign(inner, "k", 1234*time.Millisecond)
		begin := time.Now()
		require.NoError(t, m.WithLock(t.Context(), "k", func(context.Context) error {
			took := time.Since(begin)
			require.GreaterOrEqual(t, took, 1234*time.Millisecond)
			require.LessOrEqual(t, took, 1240*time.Millisecond)
			return nil
		}, actorlock.RetryDelay(time.Hour)))
		require.LessOrEqual(t, len(store.attempts()), 3)
	})
}

// contract 2.6
func TestCrashedHoldersKeyIsTakenAtItsExpiryInRedis(t *testing.T) {
	srv := redisServer(t)
	m := redisManager(t, srv)
	require.True(t, srv.Client(t).SetNX(t.Context(), "k", "crashed/1", 400*time.Millisecond).Val())
	begin := time.Now()
	require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.RetryDelay(time.Minute)))
	require.Less(t, time.Since(begin), 20*time.Second)
	require.Greater(t, time.Since(begin), 380*time.Millisecond)
}

// contract 2.6
func TestExpiryThatWasMovedIsLearnedFromTheNextAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		m := newManager(t, inner)
		foreign(inner, "k", time.Second)
		w := start(m, "k", nothing, actorlock.RetryDelay(time.Hour))
		pass(900 * time.Millisecond)
		foreign(inner, "k", time.Minute)
		pass(59 * time.Second)
		require.False(t, w.settled())
		pass(2 * time.Second)
		require.True(t, w.settled())
		require.NoError(t, w.err)
	})
}

// contract 2.6
func TestWakeUpsCostNoAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		store := newSpy(inner)
		m := newManager(t, store)
		foreign(inner, "k", 5*time.Second) // tried at its expiry, too
		w := start(m, "k", never(t), actorlock.RetryAttempts(1), actorlock.RetryDelay(10*time.Second))
		pass(time.Second)
		for range 7 { // a release, and somebody else is faster
			inner.Steal("k", "fast/1", lease.NoExpiry)
			inner.Release(t.Context(), []lease.Release{{Key: "k", Value: "fast/1", Origin: "x"}}, func(int, error) {})
			inner.Steal("k", "fast/2", 5*time.Second)
			pass(100 * time.Millisecond)
		}
		inner.Steal("k", "fast/2", lease.NoExpiry)
		require.ErrorIs(t, w.wait(), actorlock.ErrHeld)
		e := refused(t, w.err)
		require.Equal(t, 2, e.Attempts)
		require.Equal(t, "fast", e.Holder)
		require.LessOrEqual(t, w.took, 10*time.Second)
		require.GreaterOrEqual(t, len(store.attempts()), 9)
	})
}

// contract 2.6
func TestMissedWakeUpCostsOneDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memstore.New()
		a := newManager(t, store)
		mute := leasetest.NewFaulty(store)
		mute.On(leasetest.OpWatch, leasetest.Always(leasetest.Fault{Hang: true}))
		b := newManager(t, mute)
		h := hold(t, a, "k")
		w := start(b, "k", nothing, actorlock.RetryDelay(time.Second), retryForever)
		pass(10*time.Second + 300*time.Millisecond)
		require.NoError(t, h.let())
		pass(time.Second)
		require.True(t, w.settled())
		require.NoError(t, w.err)
	})
}

// contract 2.6
func TestNodesDoNotMarchInStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		store := newSpy(deaf{inner})
		var calls []*call
		for range 20 {
			calls = append(calls, start(newManager(t, store), "k", never(t), actorlock.RetryAttempts(10)))
		}
		synctest.Wait()
		begin := time.Now()
		for _, c := range calls {
			require.Error(t, c.wait())
		}
		asks := store.attempts()
		require.Len(t, asks, 20*11)
		last := map[string]time.Duration{} // when each made its last attempt
		for _, a := range asks {
			last[a.request.Origin] = a.at.Sub(begin).Round(time.Millisecond)
		}
		different := map[time.Duration]bool{}
		for _, at := range last {
			different[at] = true
		}
		require.Greater(t, len(different), 8)
	})
}

// contract 2.6
// Hundreds who wait in one process have one connection for wake-ups.
func TestOneSubscriptionForAllWaiters(t *testing.T) {
	srv := redisServer(t)
	a, b := redisManager(t, srv), redisManager(t, srv)
	var holds []*held
	var calls []*call
	keys := strings.Split("a b c d e f", " ")
	for _, key := range keys {
		holds = append(holds, hold(t, a, key))
		for range 20 {
			calls = append(calls, start(b, key, nothing, retryForever, actorlock.RetryDelay(time.Hour)))
		}
	}
	look := srv.Client(t)
	eventually(t, func() bool { return len(look.PubSubChannels(t.Context(), "*").Val()) == len(keys) })
	subscribers := 0
	for line := range strings.Lines(look.Do(t.Context(), "client", "list", "type", "pubsub").Val().(string)) {
		if strings.TrimSpace(line) != "" {
			subscribers++
		}
	}
	require.Equal(t, 1, subscribers)
	for i := range slices.Backward(holds) {
		require.NoError(t, holds[i].let())
	}
	for _, c := range calls {
		require.NoError(t, c.wait())
	}
	eventually(t, func() bool {
		return strings.TrimSpace(look.Do(t.Context(), "client", "list", "type", "pubsub").Val().(string)) == ""
	})
}
