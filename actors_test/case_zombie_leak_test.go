package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// strangers is how many goroutines of others may come while a test counts. What
// leaks does so once for each of many turns.
const strangers = 10

// Calls are cancelled at random points of their way.
func TestCase_B016(t *testing.T) {
	const callers, turns, ttl = 20, 500, 200 * time.Millisecond
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		for _, op := range []leasetest.Op{leasetest.OpAcquire, leasetest.OpRelease, leasetest.OpReserve, leasetest.OpContended} {
			f.On(op, func(context.Context, string) leasetest.Fault {
				return leasetest.Fault{Before: rand.N(200 * time.Microsecond), After: rand.N(200 * time.Microsecond)}
			})
		}
		m := newManager(t, f, actorlock.TTL(ttl), actorlock.RetryDelay(time.Millisecond))
		require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
		time.Sleep(time.Second)
		before := runtime.NumGoroutine()
		var mu sync.Mutex
		ran, cancelled := 0, 0
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for range turns {
					ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
					err := m.WithLock(ctx, fmt.Sprint("k", i/2), func(context.Context) error {
						time.Sleep(rand.N(500 * time.Microsecond))
						return nil
					})
					cancel()
					mu.Lock()
					switch {
					case err == nil:
						ran++
					case errors.Is(err, context.DeadlineExceeded):
						cancelled++
					default:
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.Greater(t, ran, callers*turns/10)
		require.Greater(t, cancelled, callers*turns/10)
		time.Sleep(3 * ttl)
		require.Zero(t, mem.Len(), "no key remains")
		time.Sleep(time.Second)
		require.LessOrEqual(t, runtime.NumGoroutine(), before+strangers)
		renewals := f.Calls(leasetest.OpExtend)
		time.Sleep(time.Minute)
		require.Equal(t, renewals, f.Calls(leasetest.OpExtend), "nothing is renewed for ever")
	})
}

// The key is gone at each release.
func TestCase_B020(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Second))
		require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
		time.Sleep(time.Second)
		before := runtime.NumGoroutine()
		for i := range 1000 {
			key := fmt.Sprint("k", i%100)
			err := m.WithLock(t.Context(), key, func(context.Context) error {
				mem.Delete(key)
				return nil
			})
			require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseGone)
		}
		time.Sleep(time.Second)
		require.LessOrEqual(t, runtime.NumGoroutine(), before+strangers)
		renewals := f.Calls(leasetest.OpExtend)
		time.Sleep(time.Minute)
		require.Equal(t, renewals, f.Calls(leasetest.OpExtend))
	})
}

// Many short holds leave nothing behind.
func TestCase_B023(t *testing.T) {
	const holds, spare = 10_000, 1 << 20
	m := newManager(t, memstore.New())
	run := func(n int) {
		for range n {
			require.NoError(t, m.WithLock(t.Context(), "k", nothing))
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	run(holds / 10)
	goroutines, before := runtime.NumGoroutine(), heap()
	run(holds)
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+strangers })
	eventually(t, func() bool { return heap() < before+spare }, "the heap has grown by more than %d bytes a hold", spare/holds)
}
