package actors_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 3.1: while a callback runs, for any multiple of TTL, the remaining
// time never falls below half of TTL; the first extension comes at about TTL/3.
func TestHoldKeepsTheFloor(t *testing.T) {
	for _, ttl := range []time.Duration{
		100 * time.Millisecond, 101 * time.Millisecond, 333 * time.Millisecond,
		time.Second, 30 * time.Second, time.Hour, 24 * time.Hour,
	} {
		t.Run(ttl.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
				begin := time.Now()
				var first time.Duration
				f.On(leasetest.OpExtend, func(context.Context, string) leasetest.Fault {
					if first == 0 {
						first = time.Since(begin)
					}
					return leasetest.Fault{Before: ttl / 50, After: ttl / 50}
				})
				m := newManager(t, f, actorlock.TTL(ttl))
				h := holding(t, t.Context(), m, "k")
				for time.Since(begin) < 5*ttl {
					time.Sleep(ttl / 97)
					state := peek(t, f, "k")
					require.True(t, state.Held, "after %v", time.Since(begin))
					require.GreaterOrEqual(t, state.TTL, ttl/2, "after %v", time.Since(begin))
					require.LessOrEqual(t, state.TTL, ttl)
				}
				require.NoError(t, h.ctx.Err())
				require.Greater(t, first, ttl/5)
				require.LessOrEqual(t, first, ttl/3)
				require.LessOrEqual(t, f.Calls(leasetest.OpExtend), 30, "no more often than it needs")
				h.release()
				require.False(t, peek(t, f, "k").Held)
			})
		})
	}
}

// contract 3.1: the same as seen by a second client of a real server.
func TestHoldKeepsTheFloorInRedis(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	srv := redisServer(t)
	other := srv.Client(t)
	m := redisManager(t, srv)
	h := holding(t, t.Context(), m, "k", actorlock.TTL(ttl))
	begin, samples := time.Now(), 0
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Since(begin) < 5*ttl {
		<-tick.C
		left, err := other.PTTL(t.Context(), "k").Result()
		require.NoError(t, err)
		require.GreaterOrEqual(t, left, ttl/2, "after %v", time.Since(begin))
		require.LessOrEqual(t, left, ttl)
		samples++
	}
	require.Greater(t, samples, 20)
	require.NoError(t, h.ctx.Err())
	h.release()
	require.Zero(t, other.Exists(t.Context(), "k").Val())
}

// contract 3.2: an extension of ours neither brings a key back nor lengthens
// somebody else's.
func TestHoldExtensionTouchesOnlyItsOwn(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Second))
		gone, taken := holding(t, t.Context(), m, "gone"), holding(t, t.Context(), m, "taken")
		endless := holding(t, t.Context(), m, "endless")
		mem.Delete("gone")
		mem.Steal("taken", "other/1", time.Minute)
		mem.Steal("endless", "other/2", 0)
		begin := time.Now()
		for _, h := range []*running{gone, taken, endless} {
			_, err := h.outcome()
			require.ErrorAs(t, err, new(*actorlock.LockLostError))
			h.settle(0, nil)
		}
		time.Sleep(10 * time.Second)
		require.False(t, peek(t, mem, "gone").Held)
		require.Equal(t, lease.State{Held: true, Holder: "other", TTL: time.Minute - time.Since(begin)}, peek(t, mem, "taken"))
		require.Equal(t, lease.State{Held: true, Holder: "other", TTL: lease.NoExpiry}, peek(t, mem, "endless"))
	})
}

// contract 3.2, seen in Redis.
func TestHoldExtensionTouchesOnlyItsOwnInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	m := redisManager(t, srv, actorlock.TTL(400*time.Millisecond))
	gone, taken := holding(t, t.Context(), m, "gone"), holding(t, t.Context(), m, "taken")
	require.NoError(t, other.Del(t.Context(), "gone").Err())
	require.NoError(t, other.Set(t.Context(), "taken", "foreign", time.Minute).Err())
	_, err := gone.outcome()
	require.ErrorIs(t, err, actorlock.ErrLeaseGone)
	_, err = taken.outcome()
	require.ErrorIs(t, err, actorlock.ErrLeaseTaken)
	require.Zero(t, other.Exists(t.Context(), "gone").Val())
	require.Equal(t, "foreign", other.Get(t.Context(), "taken").Val())
	require.LessOrEqual(t, other.PTTL(t.Context(), "taken").Val(), time.Minute)
}

// contract 3.2: no extension carries a TTL that is not the holder's.
func TestHoldExtensionCarriesTheTTL(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &recorder{Store: memstore.New()}
		m := newManager(t, s)
		for _, ttl := range []time.Duration{time.Millisecond, 7*time.Millisecond + 999*time.Microsecond, time.Second} {
			h := holding(t, t.Context(), m, ttl.String(), actorlock.TTL(ttl))
			time.Sleep(3 * ttl)
			h.release()
			all := s.seen().extends
			require.NotEmpty(t, all)
			require.GreaterOrEqual(t, all[len(all)-1].TTL, time.Millisecond)
			for _, e := range all {
				if e.Key == ttl.String() {
					require.Equal(t, lease.WholeMillis(ttl), e.TTL)
				}
			}
		}
	})
}

// contract 3.5: 10,000 keys cost a few round trips per period, and no goroutine
// per key.
func TestHoldManyKeysInBatches(t *testing.T) {
	const keys, ttl, periods = 10_000, 30 * time.Second, 6
	bubble(t, func(t *testing.T) {
		s := &recorder{Store: memstore.New()}
		m := newManager(t, s, actorlock.TTL(ttl))
		before := runtime.NumGoroutine()
		locks := make([]*actorlock.Lock, keys)
		var wg sync.WaitGroup
		for w := range 100 {
			wg.Go(func() {
				for i := w; i < keys; i += 100 {
					time.Sleep(time.Duration(i) * 100 * time.Microsecond / 100) // not all at one moment
					l, err := m.Acquire(t.Context(), fmt.Sprint("k", i))
					if err != nil {
						t.Error(err)
						return
					}
					locks[i] = l
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		require.Less(t, runtime.NumGoroutine(), before+50)
		from := len(s.seen().batches)
		time.Sleep(periods * ttl / 3)
		got := s.seen()
		calls := len(got.batches) - from
		t.Logf("%d round trips in %d periods for %d keys", calls, periods, keys)
		require.LessOrEqual(t, calls, (periods+2)*(keys/256+5))
		require.Less(t, runtime.NumGoroutine(), before+50)
		require.GreaterOrEqual(t, len(got.extends), (periods-2)*keys)
		for _, l := range locks {
			require.NoError(t, l.Context().Err())
			require.NoError(t, l.Release(t.Context()))
		}
	})
}

// contract 3.5: renewals are not queued behind acquire polling.
func TestHoldIsRenewedBesideHangingAcquires(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Second))
		h := holding(t, t.Context(), m, "k")
		f.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Hang: true}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for i := range 200 {
			queueUp(t, ctx, m, fmt.Sprint("other", i), actorlock.RetryAttempts(forever))
		}
		<-ctx.Done()
		require.NoError(t, h.ctx.Err())
		h.release()
	})
}
