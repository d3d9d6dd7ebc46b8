package actors_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 8.1: callbacks have their context cancelled, keys are released at
// once without waiting for them, and their calls return.
func TestShutdownReleasesWhatIsHeld(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		var all []*running
		for i := range 20 {
			all = append(all, holding(t, t.Context(), m, fmt.Sprint("k", i)))
		}
		begin := time.Now()
		require.NoError(t, m.Shutdown(t.Context()))
		require.Less(t, time.Since(begin), about)
		require.Zero(t, mem.Len())
		calls := f.Calls(leasetest.OpRelease)
		require.LessOrEqual(t, calls, 2, "in batches")
		for _, h := range all {
			_, err := h.outcome()
			require.ErrorAs(t, err, new(*actorlock.LockLostError))
			require.ErrorIs(t, err, actorlock.ErrShutdown)
			require.Equal(t, err, context.Cause(h.ctx))
			h.settle(0, nil)
		}
		time.Sleep(time.Second)
		require.Equal(t, calls, f.Calls(leasetest.OpRelease), "once only")
	})
}

// contract 8.1 in Redis; 8.4: a client that was passed in is still open.
func TestShutdownInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	client := userClient(t, srv.Addr())
	m := newManager(t, redisStore(t, client))
	for i := range 300 {
		_, err := m.Acquire(t.Context(), fmt.Sprint("k", i), actorlock.Fencing(false))
		require.NoError(t, err)
	}
	h := holding(t, t.Context(), m, "k")
	require.EqualValues(t, 302, other.DBSize(t.Context()).Val(), "with one fence")
	require.NoError(t, m.Shutdown(t.Context()))
	require.EqualValues(t, 1, other.DBSize(t.Context()).Val())
	_, err := h.outcome()
	require.ErrorIs(t, err, actorlock.ErrShutdown)
	require.NoError(t, client.Ping(t.Context()).Err())
}

// contract 8.1: from its first moment no callback starts.
func TestShutdownStartsNoCallback(t *testing.T) {
	for range 30 {
		m := newManager(t, memstore.New(), actorlock.RetryAttempts(forever))
		ctx, cancel := context.WithCancel(context.Background())
		var down atomic.Bool
		var ran atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for ctx.Err() == nil {
					_ = m.WithLock(ctx, fmt.Sprint("k", i%3), func(ctx context.Context) error {
						// The scheduler may let it wait after it was let in; then
						// its context has ended.
						if down.Load() && ctx.Err() == nil {
							t.Error("started after the shutdown began")
						}
						ran.Add(1)
						return nil
					})
				}
			})
		}
		eventually(t, func() bool { return ran.Load() > 20 })
		done := make(chan error)
		go func() { done <- m.Shutdown(context.Background()) }()
		require.NoError(t, <-done)
		down.Store(true)
		cancel()
		wg.Wait()
	}
}

// contract 8.1: it is idempotent and safe from everywhere; a later call returns
// the first one's result.
func TestShutdownManyTimes(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		holding(t, t.Context(), m, "k")
		f.On(leasetest.OpRelease, leasetest.Always(leasetest.Fault{Err: io.EOF, Before: time.Second}))
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { errs[i] = m.Shutdown(context.Background()) })
		}
		wg.Wait()
		errs = append(errs, m.Shutdown(context.Background()))
		for _, err := range errs {
			var e *actorlock.ShutdownError
			require.ErrorAs(t, err, &e)
			require.Equal(t, []string{"k"}, e.Keys)
			require.ErrorIs(t, err, io.EOF)
		}
		var none *actorlock.Manager
		require.NoError(t, none.Shutdown(t.Context()))
		f.On(leasetest.OpRelease, nil)
	})
}

// contract 8.1: it can be called from a callback.
func TestShutdownFromACallback(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		var inner error
		err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			inner = m.Shutdown(context.Background())
			require.ErrorIs(t, context.Cause(ctx), actorlock.ErrShutdown)
			require.False(t, peek(t, mem, "k").Held)
			return nil
		}, actorlock.AwaitCallback())
		require.NoError(t, inner)
		require.ErrorIs(t, err, actorlock.ErrShutdown)
	})
}

// contract 8.1: with a done ctx it still ends everything, and does not wait for
// a store that hangs; the keys that are left are named.
func TestShutdownWithADoneContext(t *testing.T) {
	for _, hang := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
			m := newManager(t, f)
			h := holding(t, t.Context(), m, "k")
			f.On(leasetest.OpRelease, leasetest.Always(leasetest.Fault{Hang: hang}))
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errMine)
			begin := time.Now()
			err := m.Shutdown(ctx)
			require.Less(t, time.Since(begin), about)
			var e *actorlock.ShutdownError
			if hang || err != nil {
				require.ErrorAs(t, err, &e)
				require.Equal(t, []string{"k"}, e.Keys)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, errMine)
			}
			_, err = h.outcome()
			require.ErrorIs(t, err, actorlock.ErrShutdown)
		})
	}
}

// contract 8.1: a store that hangs, and a ctx with a deadline.
func TestShutdownOfAHungStore(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Hour))
		holding(t, t.Context(), m, "b")
		holding(t, t.Context(), m, "a")
		f.On(leasetest.OpRelease, func(_ context.Context, key string) leasetest.Fault {
			return leasetest.Fault{Hang: key != "c"}
		})
		f.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Hang: true}))
		flying := queueUp(t, t.Context(), m, "in flight")
		time.Sleep(time.Millisecond)
		f.On(leasetest.OpAcquire, nil)
		holding(t, t.Context(), m, "c")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		err := m.Shutdown(ctx)
		require.LessOrEqual(t, time.Since(begin), time.Second+about)
		var e *actorlock.ShutdownError
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, []string{"a", "b", "in flight"}, e.Keys, "with the outcome that is not known")
		require.False(t, isClosed(flying.in))
		require.Equal(t, err, m.Shutdown(context.Background()))
	})
}

// contract 8.1: releases fail independently; a key that is gone or taken
// meanwhile is no error.
func TestShutdownErrorsNameTheirKeys(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := startManager(t, actorlock.Config{Store: f, Prefix: "p:"})
		for _, key := range []string{"fine", "gone", "taken", "bad", "worse"} {
			holding(t, t.Context(), m, key)
		}
		mem.Delete("p:gone")
		mem.Steal("p:taken", "other/1", time.Hour)
		f.On(leasetest.OpRelease, func(_ context.Context, key string) leasetest.Fault {
			switch key {
			case "p:bad":
				return leasetest.Fault{Err: io.EOF}
			case "p:worse":
				return leasetest.Fault{Panic: "ouch"}
			}
			return leasetest.Fault{}
		})
		err := m.Shutdown(t.Context())
		var e *actorlock.ShutdownError
		require.ErrorAs(t, err, &e)
		require.Subset(t, e.Keys, []string{"bad", "worse"}, "without the prefix")
		require.NotContains(t, e.Keys, "gone")
		require.False(t, peek(t, mem, "p:fine").Held)
		require.Equal(t, "other", peek(t, mem, "p:taken").Holder)
	})
}
