package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// plug occupies every leader's place until it is pulled.
func plug(t *testing.T, k *combiner) (pull func()) {
	t.Helper()
	var busy, done sync.WaitGroup
	hold := make(chan struct{})
	for range leaders {
		busy.Add(1)
		done.Go(func() {
			k.do(context.Background(), []*command{{}}, func(context.Context, []*command) {
				busy.Done()
				<-hold
			})
		})
	}
	busy.Wait()
	return func() { close(hold); done.Wait() }
}

func (k *combiner) queued() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.queue)
}

func TestCombinerGathers(t *testing.T) {
	var k combiner
	pull := plug(t, &k)
	var trips, sent atomic.Int32
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			require.True(t, k.do(context.Background(), []*command{{}}, func(_ context.Context, cmds []*command) {
				trips.Add(1)
				sent.Add(int32(len(cmds)))
			}))
		})
	}
	require.Eventually(t, func() bool { return k.queued() == 100 }, patience, 1e6)
	pull()
	wg.Wait()
	require.EqualValues(t, 100, sent.Load())
	require.LessOrEqual(t, trips.Load(), int32(leaders))
	require.Zero(t, k.leading)
}

// A command that was cancelled while it queued is never sent.
func TestCombinerCancelledInQueue(t *testing.T) {
	var k combiner
	pull := plug(t, &k)
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan bool)
	go func() {
		gone <- k.do(ctx, []*command{{}}, func(context.Context, []*command) { t.Error("sent") })
	}()
	require.Eventually(t, func() bool { return k.queued() == 1 }, patience, 1e6)
	cancel()
	require.False(t, <-gone)
	pull()
	require.Zero(t, k.queued())
	require.Zero(t, k.leading)
}

// The end of the leader's context leaves the others' commands alone.
func TestCombinerLeaderCancelled(t *testing.T) {
	var k combiner
	pull := plug(t, &k)
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan struct{})
	led := make(chan bool)
	go func() {
		led <- k.do(ctx, []*command{{}}, func(ctx context.Context, cmds []*command) {
			close(started)
			cancel()
			if ctx.Err() != nil {
				t.Error("the batch ends with its leader's context")
			}
		})
	}()
	require.Eventually(t, func() bool { return k.queued() == 1 }, patience, 1e6)
	other := make(chan bool)
	go func() { other <- k.do(context.Background(), []*command{{}}, func(context.Context, []*command) {}) }()
	require.Eventually(t, func() bool { return k.queued() == 2 }, patience, 1e6)
	pull()
	<-started
	require.True(t, <-led)
	require.True(t, <-other)
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
				ok := k.do(ctx, []*command{{}}, func(_ context.Context, cmds []*command) {
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
