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

// saturate keeps n callers of m at work on key, each hold lasting a while, until
// ctx ends. It counts the holds.
func saturate(t *testing.T, ctx context.Context, wg *sync.WaitGroup, m *actorlock.Manager, n int, each func(), opts ...actorlock.Option) {
	opts = append([]actorlock.Option{actorlock.RetryAttempts(forever)}, opts...)
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				err := m.WithLock(ctx, "k", func(context.Context) error {
					each()
					return nil
				}, opts...)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
}

// contract 4.4: a turn of hand-overs ends after at most 50 ms when another node
// waits, with pub/sub and without; sooner when others waited at the last one's end.
func TestHandOverTurnEnds(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprint("deaf=", deaf), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
				if deaf {
					f.On(leasetest.OpWatch, leasetest.Always(leasetest.Fault{Hang: true}))
				}
				busy, other := newManager(t, f), newManager(t, f)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var wg sync.WaitGroup
				saturate(t, ctx, &wg, busy, 8, func() { time.Sleep(time.Millisecond) })
				time.Sleep(time.Second)
				const delay = 20 * time.Millisecond
				for i := range 20 {
					begin := time.Now()
					h := holding(t, t.Context(), other, "k", actorlock.RetryAttempts(forever), actorlock.RetryDelay(delay))
					limit := 60 * time.Millisecond
					switch {
					case !deaf && i > 0:
						limit = 30 * time.Millisecond
					case deaf:
						limit = 3 * time.Second // it must happen to ask while the key is free, for 5 ms at a time
					}
					require.Less(t, time.Since(begin), limit)
					h.release()
				}
				cancel()
				wg.Wait()
			})
		})
	}
}

// contract 4.4: after a hold that lasted longer than a turn, the node asks whether
// another waits before it hands the lease over.
func TestHandOverAfterALongHold(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		busy, other := newManager(t, f), newManager(t, f)
		h := holding(t, t.Context(), busy, "k")
		time.Sleep(5 * time.Second) // nothing happens
		first := queueUp(t, t.Context(), other, "k", actorlock.RetryAttempts(forever))
		time.Sleep(time.Second)
		second := queueUp(t, t.Context(), busy, "k", actorlock.RetryAttempts(forever))
		time.Sleep(time.Millisecond)
		h.release()
		first.granted()
		require.Equal(t, 1, f.Calls(leasetest.OpContended))
		first.release()
		second.granted()
		second.release()
	})
}

// contract 4.4: four saturated nodes share a key.
func TestHandOverFourNodesShare(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		var counts [4]int
		for i := range counts {
			saturate(t, ctx, &wg, newManager(t, f), 4, func() { counts[i]++; time.Sleep(time.Millisecond) })
		}
		wg.Wait()
		t.Log(counts)
		total := counts[0] + counts[1] + counts[2] + counts[3]
		require.Greater(t, total, 2000, "turns do not cost much")
		for _, n := range counts {
			require.Greater(t, n, total/12, "%v", counts)
		}
	})
}

// contract 4.4: the same in Redis.
func TestHandOverFourNodesShareRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var counts [4]int // guarded by the lock
	for i := range counts {
		saturate(t, ctx, &wg, redisManager(t, srv), 4, func() { counts[i]++ })
	}
	wg.Wait()
	t.Log(counts)
	total := counts[0] + counts[1] + counts[2] + counts[3]
	for _, n := range counts {
		require.Greater(t, n, total/40, "%v", counts)
	}
}

// contract 4.4: PollerGap leaves the key free for those who only poll, such as
// the older Mutex; they get in.
func TestHandOverPollerGap(t *testing.T) {
	for _, gap := range []time.Duration{0, 20 * time.Millisecond} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			m := startManager(t, actorlock.Config{Store: f, PollerGap: gap})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var wg sync.WaitGroup
			saturate(t, ctx, &wg, m, 4, func() { time.Sleep(3 * time.Millisecond) }, actorlock.RetryDelay(5*time.Millisecond))
			time.Sleep(100 * time.Millisecond)
			got := 0
			for i := range 200 {
				a := lease.Acquisition{Key: "k", Value: fmt.Sprint("poller/", i), TTL: time.Second}
				at, err := mem.Acquire(t.Context(), a)
				require.NoError(t, err)
				if at.Acquired {
					got++
					time.Sleep(time.Millisecond)
					mem.Release(t.Context(), []lease.Release{{Key: "k", Value: a.Value}}, func(_ int, err error) {
						require.NoError(t, err)
					})
				}
				time.Sleep(10 * time.Millisecond)
			}
			if gap > 0 {
				require.Greater(t, got, 10)
			} else {
				require.Zero(t, got, "nothing lets it in without")
			}
			cancel()
			wg.Wait()
		})
	}
}

// contract 4.4: the gap comes after a turn, also when a lease is so short that
// the node has stopped watching the key before the turn has ended.
func TestHandOverPollerGapNotBeforeTheTurnEnds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := startManager(t, actorlock.Config{Store: f, PollerGap: time.Second})
		h := holding(t, t.Context(), m, "k", actorlock.TTL(100*time.Millisecond))
		pass(20 * time.Millisecond)
		next := queueUp(t, t.Context(), m, "k", actorlock.TTL(100*time.Millisecond))
		queued(t, m, "k", 1)
		h.release()
		next.granted()
		next.release()
		require.Equal(t, 1, f.Calls(leasetest.OpAcquire))
	})
}

// contract 4.5: within a second nothing of a key is left, whatever was done
// with it.
func TestReleaseLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		f := leasetest.NewFaulty(mem)
		s := &recorder{Store: f}
		m := newManager(t, s, actorlock.TTL(3*time.Second))
		time.Sleep(time.Second)
		goroutines, idle := runtime.NumGoroutine(), actors(m)

		var wg sync.WaitGroup
		for i := range 300 {
			key := fmt.Sprint("k", i)
			mem.Steal(key, "other/1", 100*time.Millisecond) // so that they watch
			for range 3 {                                   // some wait and are handed the lock
				wg.Go(func() {
					err := m.WithLock(t.Context(), key, func(context.Context) error {
						time.Sleep(time.Duration(i) * time.Millisecond)
						return nil
					}, actorlock.RetryAttempts(forever))
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Go(func() { // and some give up
				_ = m.WithLock(t.Context(), key, func(context.Context) error { return nil }, actorlock.RetryAttempts(i%2))
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		require.Zero(t, mem.Len())
		require.Zero(t, s.seen().watching)
		require.Positive(t, s.seen().watched)
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+16)
		require.LessOrEqual(t, actors(m), idle+128)
		calls := f.Calls(leasetest.OpExtend) + f.Calls(leasetest.OpAcquire)
		time.Sleep(time.Minute)
		require.Equal(t, calls, f.Calls(leasetest.OpExtend)+f.Calls(leasetest.OpAcquire), "no timer goes on")
	})
}
