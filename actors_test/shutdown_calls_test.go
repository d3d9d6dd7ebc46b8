package actors_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// ends are the ways of a manager to take no more calls.
var ends = map[string]func(m *actorlock.Manager) error{
	"shutdown": func(m *actorlock.Manager) error { return m.Shutdown(context.Background()) },
	"drain":    func(m *actorlock.Manager) error { return m.Drain(context.Background()) },
}

// contract 8.2, 8.3: a call that comes later, and one that waited, does not
// settle before its own ctx ends; the error is both.
func TestShutdownParksCalls(t *testing.T) {
	for name, end := range ends {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			mem.Steal("k", "other/1", time.Minute)
			m := newManager(t, f, actorlock.RetryAttempts(forever))
			begin := time.Now()
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errMine)
			defer cancel()
			waited := queueUp(t, ctx, m, "k")
			bounded := queueUp(t, ctx, m, "k", actorlock.Wait(time.Minute))
			single := queueUp(t, ctx, m, "k", actorlock.RetryAttempts(3))
			time.Sleep(100 * time.Millisecond)
			require.NoError(t, end(m), name)
			later := queueUp(t, ctx, m, "free", actorlock.RetryAttempts(0))
			endless := queueUp(t, context.Background(), m, "free")
			_, manual := m.Acquire(ctx, "free")
			require.Equal(t, time.Hour, time.Since(begin))
			requireBoth := func(err error) {
				t.Helper()
				require.ErrorAs(t, err, new(*actorlock.AcquireError))
				require.ErrorIs(t, err, actorlock.ErrShutdown)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, errMine)
			}
			requireBoth(manual)
			for _, h := range []*running{waited, bounded, single, later} {
				_, err := h.outcome()
				require.Equal(t, time.Hour, time.Since(begin))
				requireBoth(err)
				require.False(t, isClosed(h.in))
			}
			time.Sleep(1000 * time.Hour)
			require.False(t, isClosed(endless.done), "never")
			endless.cancel(nil)
			_, err := endless.outcome()
			require.ErrorIs(t, err, actorlock.ErrShutdown)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

// contract 8.2: parking takes no goroutine besides the caller's.
func TestShutdownParksOnContextAlone(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		require.NoError(t, m.Shutdown(t.Context()))
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		time.Sleep(time.Minute)
		before := runtime.NumGoroutine()
		for i := range 100 {
			wg.Go(func() {
				_ = m.WithLock(ctx, fmt.Sprint("k", i), func(context.Context) error { return nil })
			})
		}
		synctest.Wait()
		require.LessOrEqual(t, runtime.NumGoroutine(), before+100)
		cancel()
		wg.Wait()
	})
}

// contract 8.2: FailAfterShutdown makes such calls fail at once.
func TestShutdownFailsCalls(t *testing.T) {
	for name, end := range ends {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			mem.Steal("k", "other/1", time.Hour)
			m := startManager(t, actorlock.Config{Store: f, FailAfterShutdown: true})
			waited := queueUp(t, t.Context(), m, "k", actorlock.RetryAttempts(forever))
			time.Sleep(time.Minute)
			begin := time.Now()
			require.NoError(t, end(m), name)
			later := queueUp(t, t.Context(), m, "free")
			_, err := m.Acquire(t.Context(), "free")
			require.ErrorIs(t, err, actorlock.ErrShutdown)
			for _, h := range []*running{waited, later} {
				_, err := h.outcome()
				require.ErrorAs(t, err, new(*actorlock.AcquireError))
				require.ErrorIs(t, err, actorlock.ErrShutdown)
				require.NotErrorIs(t, err, context.Canceled)
			}
			require.Less(t, time.Since(begin), about)
		})
	}
}

// contract 8.2: Inspect gets ErrShutdown at once.
func TestShutdownInspect(t *testing.T) {
	m := newManager(t, memstore.New())
	require.NoError(t, m.Shutdown(t.Context()))
	_, err := m.Inspect(t.Context(), "k")
	require.ErrorIs(t, err, actorlock.ErrShutdown)
}

// contract 8.1: an acquire in flight runs no callback, and what it gets is
// released.
func TestShutdownWithAnAcquireInFlight(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		f.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{After: time.Second}))
		ctx, cancel := context.WithCancel(t.Context())
		flying := queueUp(t, ctx, m, "k")
		time.Sleep(time.Millisecond)
		require.True(t, peek(t, mem, "k").Held)
		require.NoError(t, m.Shutdown(t.Context()))
		require.False(t, peek(t, mem, "k").Held)
		require.False(t, isClosed(flying.done))
		cancel()
		_, err := flying.outcome()
		require.ErrorIs(t, err, actorlock.ErrShutdown)
		require.False(t, isClosed(flying.in))
	})
}

// contract 8.1: every actor stops; 10.1: in a system that was joined, only ours.
func TestShutdownOfAJoinedSystem(t *testing.T) {
	system := actor.NewActorSystem()
	defer system.Shutdown()
	heard := make(chan any, 1)
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if s, ok := c.Message().(string); ok {
			heard <- s
		}
	}))
	store := memstore.New()
	join := func() *actorlock.Manager {
		return startManager(t, actorlock.Config{Store: store, System: system})
	}
	first, second := join(), join()
	before := actors(second)
	h := holding(t, t.Context(), first, "k")
	require.NoError(t, first.Shutdown(t.Context()))
	_, err := h.outcome()
	require.ErrorIs(t, err, actorlock.ErrShutdown)
	require.LessOrEqual(t, actors(second), before-3, "supervisor, registry and renewer have gone")
	h = holding(t, t.Context(), second, "k")
	h.release()
	system.Root.Send(pid, "alive")
	require.Equal(t, "alive", <-heard)
	require.NoError(t, system.Root.StopFuture(pid).Wait())
}

// contract 8.2: messages get ErrShutdown at once while the tree ends.
func TestShutdownAnswersMessages(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		mem.Steal("k", "other/1", time.Hour)
		m := newManager(t, f)
		ask := func() chan any {
			reply := make(chan any, 3)
			m.System().Root.Send(m.Registry(), &lockowner.Acquire{Key: "k", Reply: reply, Ask: lockowner.Ask{
				TTL: time.Minute, Attempts: lockowner.Forever, Delay: time.Second,
			}})
			return reply
		}
		waited := ask()
		time.Sleep(time.Second)
		require.NoError(t, m.Shutdown(t.Context()))
		ans := <-waited
		require.IsType(t, &lockowner.Refused{}, ans)
		require.ErrorIs(t, ans.(*lockowner.Refused).Err, actorlock.ErrShutdown)
	})
}
