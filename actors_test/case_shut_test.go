package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// The order of a program's end: Shutdown cancels the callbacks and releases
// their keys, then the client is closed. Drain before it waits for them.
//
// contract 8.1
// contract 8.3
func TestCase_B100(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	for _, drain := range []bool{false, true} {
		client := userClient(t, srv.Addr())
		m := newManager(t, redisStore(t, client))
		finish := make(chan struct{})
		var in, running sync.WaitGroup
		var cancelled, ended atomic.Int32
		for i := range 20 {
			in.Add(1)
			running.Go(func() {
				err := m.WithLock(context.Background(), fmt.Sprint("k", i), func(ctx context.Context) error {
					in.Done()
					select {
					case <-ctx.Done():
						cancelled.Add(1)
					case <-finish:
					}
					ended.Add(1)
					return nil
				}, actorlock.AwaitCallback())
				if errors.Is(err, actorlock.ErrShutdown) == drain || (drain && err != nil) {
					t.Error(err)
				}
			})
		}
		in.Wait()
		require.Len(t, look.Keys(t.Context(), "k*").Val(), 20)
		if drain {
			close(finish)
			require.NoError(t, m.Drain(t.Context()))
			require.EqualValues(t, 20, ended.Load(), "it has waited for them")
		}
		require.NoError(t, m.Shutdown(t.Context()))
		require.Empty(t, look.Keys(t.Context(), "k*").Val())
		require.NoError(t, client.Close())
		running.Wait()
		require.Equal(t, !drain, cancelled.Load() == 20)
	}
}

// After the end nothing goes to the store, and the calls that came before it,
// after it and from inside a callback each get what they were promised.
//
// contract 8.2
func TestCase_B102(t *testing.T) {
	for name, fail := range map[string]bool{"parked": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				store := newSpy(memstore.New())
				m := startManager(t, actorlock.Config{Store: store, FailAfterShutdown: fail, Defaults: []actorlock.Option{retryForever}})
				nested := make(chan error, 1)
				holder := start(m, "k", func(ctx context.Context) error {
					<-ctx.Done()
					nested <- m.WithLock(ctx, "k", never(t))
					return nil
				}, actorlock.AwaitCallback())
				pass(time.Millisecond)
				calls := []*call{start(m, "k", never(t))}
				queued(t, m, "k", 1)
				require.NoError(t, m.Shutdown(t.Context()))
				require.ErrorIs(t, holder.wait(), actorlock.ErrShutdown)
				err := <-nested
				require.ErrorIs(t, err, actorlock.ErrShutdown)
				var lost *actorlock.LockLostError
				require.ErrorAs(t, err, &lost)

				sent := store.commands()
				for _, key := range []string{"k", "another"} {
					calls = append(calls, start(m, key, never(t)))
				}
				pass(time.Hour)
				for _, c := range calls {
					require.Equal(t, fail, c.settled())
					c.cancel(nil)
					err := c.wait()
					require.ErrorIs(t, err, actorlock.ErrShutdown)
					refused(t, err)
					if !fail {
						require.ErrorIs(t, err, context.Canceled)
					}
				}
				_, err = m.Inspect(t.Context(), "k")
				require.ErrorIs(t, err, actorlock.ErrShutdown)
				require.Equal(t, sent, store.commands(), "nothing was sent")
			})
		})
	}
}

// clocked notes when each key was last extended.
type clocked struct {
	lease.Store
	mu   sync.Mutex
	last map[string]time.Time
}

func (s *clocked) Extend(ctx context.Context, batch []lease.Extension, report func(int, error)) {
	s.mu.Lock()
	for _, e := range batch {
		s.last[e.Key] = time.Now()
	}
	s.mu.Unlock()
	s.Store.Extend(ctx, batch, report)
}

// Callbacks that end at random while the manager is shut down: nothing is
// renewed after its callback has ended, nor after the shutdown began.
//
// contract 4.2
// contract 8.1
func TestCase_B103(t *testing.T) {
	const ttl = 300 * time.Millisecond
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		f.On(leasetest.OpRelease, func(context.Context, string) leasetest.Fault {
			return leasetest.Fault{Before: rand.N(2 * ttl)}
		})
		store := &clocked{Store: f, last: map[string]time.Time{}}
		m := newManager(t, store, actorlock.TTL(ttl))
		var mu sync.Mutex
		ended := map[string]time.Time{}
		var all sync.WaitGroup
		for i := range 200 {
			key := fmt.Sprint(i)
			all.Go(func() {
				// Those whose turn comes before the end have a result of their own.
				_ = m.WithLock(context.Background(), key, func(context.Context) error {
					<-time.After(rand.N(6 * ttl))
					mu.Lock()
					defer mu.Unlock()
					ended[key] = time.Now()
					return nil
				}, actorlock.AwaitCallback())
			})
		}
		pass(3 * ttl)
		shut := time.Now()
		require.NoError(t, m.Shutdown(t.Context()))
		require.NotZero(t, time.Since(shut), "it takes its time")
		all.Wait()
		pass(10 * ttl)
		require.Len(t, ended, 200)
		extended := 0
		for key, last := range store.last {
			extended++
			require.False(t, last.After(ended[key]), "extended after its callback has ended")
			require.False(t, last.After(shut), "extended after the shutdown began")
		}
		require.Greater(t, extended, 100)
	})
}
