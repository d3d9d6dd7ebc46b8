package actors_test

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// footprint is what a process has that must not grow.
type footprint struct {
	heap               int64
	goroutines, actors int
}

func footprintOf(m *actorlock.Manager) footprint {
	runtime.GC()
	runtime.GC() // what the first one has finalised, too
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return footprint{int64(s.HeapAlloc), runtime.NumGoroutine(), actors(m)}
}

// back waits until nothing is left but what may be kept for reuse.
func (before footprint) back(t *testing.T, m *actorlock.Manager, heap int64) {
	t.Helper()
	const spareOwners = 128
	var now footprint
	eventually(t, func() bool {
		now = footprintOf(m)
		return now.heap-before.heap < heap && now.goroutines-before.goroutines <= 5 && now.actors-before.actors <= spareOwners
	}, "back at the baseline")
	t.Logf("before %+v, after %+v", before, now)
}

// abreast runs do for each of n numbers, some at a time.
func abreast(n, workers int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				do(i)
			}
		})
	}
	wg.Wait()
}

// A million keys, locked once each, leave nothing behind. What the framework
// keeps of the busiest moment does not grow with the number of keys.
//
// contract 4.5
func TestCase_B096(t *testing.T) {
	const rounds, each = 5, 200_000 / scale
	store := memstore.New()
	m := newManager(t, store)
	empty := footprintOf(m)
	round := func(n int) {
		abreast(each, 8, func(i int) {
			if err := m.WithLock(context.Background(), "key "+strconv.Itoa(n*each+i), nothing); err != nil {
				t.Error(err)
			}
		})
	}
	round(0)
	empty.back(t, m, 1<<40)
	before := footprintOf(m)
	for n := 1; n < rounds; n++ {
		round(n)
	}
	require.Zero(t, store.Len())
	// An owner takes 1.5 kB; the busiest moment is not the same in each round.
	before.back(t, m, max((rounds-1)*each*10, 16<<20))
}

// 1,000 waits that were given up leave no subscription and no connection.
//
// contract 4.5
func TestCase_B098(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	client := userClient(t, srv.Addr())
	m := newManager(t, redisStore(t, client), retryForever)
	const keys = 20
	for i := range keys {
		require.NoError(t, look.Set(t.Context(), strconv.Itoa(i), "other/1", 0).Err())
	}
	most := 0
	for range 1000 / (2 * keys) {
		var calls []*call
		for i := range 2 * keys {
			calls = append(calls, start(m, strconv.Itoa(i%keys), never(t)))
		}
		for i := range keys {
			queued(t, m, strconv.Itoa(i), 2)
		}
		most = max(most, len(look.PubSubChannels(t.Context(), "*").Val()))
		for _, c := range calls {
			c.cancel(nil)
			require.ErrorIs(t, c.wait(), context.Canceled)
		}
	}
	require.NotZero(t, most, "they were woken by messages")
	eventually(t, func() bool {
		list := look.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").String()
		return len(look.PubSubChannels(t.Context(), "*").Val()) == 0 && !strings.Contains(list, "id=")
	}, "no subscription and no connection for it")
	eventually(t, func() bool {
		stats := client.PoolStats()
		return stats.TotalConns == stats.IdleConns
	}, "all others are back in the pool")
	begin := time.Now()
	require.NoError(t, m.WithLock(t.Context(), "free", nothing))
	require.Less(t, time.Since(begin), plenty)
}
