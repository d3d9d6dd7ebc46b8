package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The round trips of these tests take one, in a bubble's time.
const roundTrip = time.Millisecond

func one() []*command { return []*command{{}} }

// plug occupies every leader's place; pull frees one.
func plug(k *combiner) (pull func()) {
	hold := make(chan struct{})
	for range leaders {
		go k.do(context.Background(), one(), func(context.Context, []*command) { <-hold })
		synctest.Wait()
	}
	return func() { hold <- struct{}{}; synctest.Wait() }
}

// unplug frees n of them.
func unplug(pull func(), n int) {
	for range n {
		pull()
	}
}

// idle says that nothing is left behind.
func idle(t *testing.T, k *combiner) {
	t.Helper()
	synctest.Wait()
	require.Zero(t, k.leading)
	require.Empty(t, k.queue)
	require.Zero(t, k.size)
}

func TestCombinerGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		pull := plug(&k)
		var trips, sent atomic.Int32
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				require.True(t, k.do(t.Context(), one(), func(_ context.Context, cmds []*command) {
					trips.Add(1)
					sent.Add(int32(len(cmds)))
				}))
			})
		}
		synctest.Wait()
		require.Len(t, k.queue, 100)
		unplug(pull, leaders)
		wg.Wait()
		require.EqualValues(t, 100, sent.Load())
		require.LessOrEqual(t, trips.Load(), int32(leaders))
		idle(t, &k)
	})
}

// A command that was cancelled while it queued is never sent.
func TestCombinerCancelledInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		pull := plug(&k)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan bool)
		go func() {
			gone <- k.do(ctx, one(), func(context.Context, []*command) { t.Error("sent") })
		}()
		synctest.Wait()
		require.Len(t, k.queue, 1)
		cancel()
		require.False(t, <-gone)
		unplug(pull, leaders)
		idle(t, &k)
	})
}

// The end of the leader's context leaves the others' commands alone.
func TestCombinerLeaderCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		pull := plug(&k)
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		led, other := make(chan bool), make(chan bool)
		go func() {
			led <- k.do(ctx, one(), func(ctx context.Context, cmds []*command) {
				close(started)
				cancel()
				require.Len(t, cmds, 2)
				require.NoError(t, ctx.Err(), "the batch ends with its leader's context")
			})
		}()
		synctest.Wait()
		go func() { other <- k.do(t.Context(), one(), func(context.Context, []*command) {}) }()
		synctest.Wait()
		require.Len(t, k.queue, 2)
		pull()
		<-started
		require.True(t, <-led)
		require.True(t, <-other)
		unplug(pull, leaders-1)
		idle(t, &k)
	})
}

// Callers who come back as soon as they have their reply share the round trips
// evenly. Otherwise one carries nearly all of them, and while it is under way
// nothing else is.
func TestCombinerSplitsEvenly(t *testing.T) {
	const callers, rounds = 48, 50
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		var trips, small, large atomic.Int32
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range rounds {
					require.True(t, k.do(t.Context(), one(), func(_ context.Context, cmds []*command) {
						if trips.Add(1) > 4*leaders { // it has settled
							switch {
							case len(cmds) < callers/leaders/2:
								small.Add(1)
							case len(cmds) > 2*callers/leaders:
								large.Add(1)
							}
						}
						time.Sleep(roundTrip + time.Duration(len(cmds))*roundTrip/callers)
					}))
				}
			})
		}
		wg.Wait()
		require.Less(t, trips.Load(), int32(2*leaders*rounds))
		require.Less(t, small.Load(), trips.Load()/10, "of %d", trips.Load())
		require.Less(t, large.Load(), trips.Load()/10, "of %d", trips.Load())
		idle(t, &k)
	})
}

// Whoever waits for more to come does not wait for those who stay away.
func TestCombinerGoesWithWhatThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := combiner{sizes: [leaders]int{90, 90, 90}}
		var wg sync.WaitGroup
		begin := time.Now()
		trip := func(context.Context, []*command) { time.Sleep(roundTrip) }
		for range 5 {
			wg.Go(func() { k.do(t.Context(), one(), trip) })
		}
		wg.Wait()
		require.Equal(t, 2*roundTrip, time.Since(begin), "one alone, and then the other four")
		idle(t, &k)
	})
}

// Round trips that hang do not hold up the others for long.
func TestCombinerStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		pull := plug(&k)
		begin := time.Now()
		for range 10 {
			require.True(t, k.do(t.Context(), one(), func(context.Context, []*command) { time.Sleep(roundTrip) }))
		}
		require.Less(t, time.Since(begin), 10*(2*stall+roundTrip))
		unplug(pull, leaders)
		idle(t, &k)
	})
}

// A queue that began to hang only after it had been served is noticed, too.
func TestCombinerStalledLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		pull := plug(&k)
		hold := make(chan struct{})
		go k.do(t.Context(), one(), func(context.Context, []*command) { <-hold })
		time.Sleep(stall / 2)
		pull()
		begin := time.Now()
		require.True(t, k.do(t.Context(), one(), func(context.Context, []*command) {}))
		require.LessOrEqual(t, time.Since(begin), 2*stall)
		close(hold)
		unplug(pull, leaders-1)
		idle(t, &k)
	})
}

// The further leaders of a queue that hung go when their work is done, and a
// queue that is served, however slowly, gets none.
func TestCombinerFurtherLeadersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		var trips, flying, before, after atomic.Int32
		trip := func(context.Context, []*command) {
			n, f := trips.Add(1), flying.Add(1)
			switch {
			case n <= maxLeaders:
				before.Store(max(before.Load(), f))
				time.Sleep(20 * stall)
			case n > 3*maxLeaders:
				after.Store(max(after.Load(), f))
				fallthrough
			default:
				time.Sleep(stall / 2)
			}
			flying.Add(-1)
		}
		var wg sync.WaitGroup
		for range 4 * maxLeaders * batchSize {
			wg.Go(func() {
				for range 5 {
					k.do(t.Context(), one(), trip)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, maxLeaders, before.Load())
		require.EqualValues(t, leaders, after.Load())
		idle(t, &k)
	})
}

// However much hangs, there are never more than so many round trips.
func TestCombinerStalledForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		pull := plug(&k)
		var hanging atomic.Int32
		var wg sync.WaitGroup
		hold := make(chan struct{})
		for range 20 * maxLeaders {
			wg.Go(func() {
				k.do(t.Context(), one(), func(context.Context, []*command) {
					hanging.Add(1)
					<-hold
				})
			})
			time.Sleep(stall)
		}
		require.EqualValues(t, maxLeaders-leaders, hanging.Load())
		close(hold)
		unplug(pull, leaders)
		wg.Wait()
		idle(t, &k)
	})
}

// A caller does not wait because a round trip of somebody else hangs.
func TestCombinerLoneBesideHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k combiner
		var wg sync.WaitGroup
		hold := make(chan struct{})
		wg.Go(func() { k.do(t.Context(), one(), func(context.Context, []*command) { <-hold }) })
		synctest.Wait()
		begin := time.Now()
		require.True(t, k.do(t.Context(), one(), func(context.Context, []*command) {}))
		require.Zero(t, time.Since(begin))
		close(hold)
		wg.Wait()
		idle(t, &k)
	})
}

func TestCombinerUnderLoad(t *testing.T) {
	var k combiner
	var sent, cancelled atomic.Int32
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for range 500 {
				ctx, cancel := context.WithCancel(context.Background())
				if i%4 == 0 {
					go cancel()
				}
				ok := k.do(ctx, one(), func(_ context.Context, cmds []*command) {
					sent.Add(int32(len(cmds)))
					require.LessOrEqual(t, len(cmds), batchSize)
				})
				if !ok {
					cancelled.Add(1)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 64*500, sent.Load()+cancelled.Load())
	require.Zero(t, k.leading)
	require.Empty(t, k.queue)
}
