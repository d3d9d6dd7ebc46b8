package actors_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// Calls with tiny deadlines race with their answers, under the race detector,
// and are all forgotten: a shutdown finds nothing that it has to wait for.
//
// contract 2.7, 4.5
func TestCase_B114(t *testing.T) {
	store := memstore.New()
	m := newManager(t, store)
	before := actors(m)
	abreast(20_000, 16, func(i int) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%50)*time.Microsecond)
		defer cancel()
		if err := m.WithLock(ctx, strconv.Itoa(i%4000), nothing); err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	eventually(t, func() bool { return store.Len() == 0 }, "nothing is left of those who gave up")
	const spareOwners = 128
	eventually(t, func() bool { return actors(m)-before <= spareOwners }, "nor in the actor system")
	ctx, cancel := context.WithTimeout(t.Context(), plenty)
	defer cancel()
	require.NoError(t, m.Shutdown(ctx))
}

// Shutdown has no limit of its own: it waits for no callback, and Drain waits
// for as long as its ctx does.
//
// contract 8.1, 8.3
func TestCase_B115(t *testing.T) {
	for _, patience := range []time.Duration{30 * time.Second, time.Second} {
		bubble(t, func(t *testing.T) {
			m := newManager(t, memstore.New())
			in := make(chan struct{})
			c := start(m, "k", func(ctx context.Context) error {
				close(in)
				<-time.After(15 * time.Second) // needs that long to clean up
				return nil
			})
			<-in
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := m.Drain(ctx)
			if patience > 15*time.Second {
				require.NoError(t, err)
				require.Equal(t, 15*time.Second, time.Since(begin))
			} else {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, patience, time.Since(begin))
			}
			before := time.Now()
			require.NoError(t, m.Shutdown(t.Context()))
			require.LessOrEqual(t, time.Since(before), about)
			if patience > 15*time.Second {
				require.NoError(t, c.wait())
			} else {
				require.ErrorIs(t, c.wait(), actorlock.ErrShutdown)
			}
			pass(15 * time.Second)
		})
	}
}

// Calls that race with a shutdown all return.
//
// contract 8.2
func TestCase_B117(t *testing.T) {
	for round := range 20 {
		m := startManager(t, actorlock.Config{Store: memstore.New(), FailAfterShutdown: true})
		var calls sync.WaitGroup
		begun := make(chan struct{}, 500)
		for range 500 {
			calls.Go(func() {
				begun <- struct{}{}
				err := m.WithLock(context.Background(), "k", nothing, retryForever)
				if err != nil && !errors.Is(err, actorlock.ErrShutdown) {
					t.Error(err)
				}
			})
		}
		for range 25 * round {
			<-begun
		}
		begin := time.Now()
		require.NoError(t, m.Shutdown(t.Context()))
		calls.Wait()
		require.Less(t, time.Since(begin), plenty)
	}
}

// Waits that time out leave nothing in the actor system.
//
// contract 4.5
func TestCase_B121(t *testing.T) {
	const n = 100_000 / scale
	store := memstore.New()
	foreign(store, "k", 0)
	m := newManager(t, store)
	before := footprintOf(m)
	abreast(n, 64, func(i int) {
		err := m.WithLock(context.Background(), "k", nothing, actorlock.RetryDelay(time.Millisecond), actorlock.RetryAttempts(1))
		if err == nil {
			t.Error("got a lock that is held")
		}
	})
	before.back(t, m, 16<<20)
}

// One manager and key shared by many: no count is lost, and nobody waits for a
// time to live.
//
// contract 2.5
func TestCase_B122(t *testing.T) {
	srv := redisServer(t)
	m := redisManager(t, srv)
	count := 0
	begin := time.Now()
	abreast(500, 10, func(int) {
		if err := m.WithLock(context.Background(), "k", func(context.Context) error { count++; return nil }, retryForever); err != nil {
			t.Error(err)
		}
	})
	require.Equal(t, 500, count)
	require.Less(t, time.Since(begin), plenty)
}

// Releases and acquires of one manager overlap at every point.
//
// contract 5.6
func TestCase_B124(t *testing.T) {
	store := memstore.New()
	m := newManager(t, store)
	for _, handOver := range []bool{true, false} {
		abreast(50_000/scale, 4, func(int) {
			if err := m.WithLock(context.Background(), "k", nothing, retryForever, actorlock.HandOver(handOver)); err != nil {
				t.Error(err)
			}
		})
	}
	require.Zero(t, store.Len())
}

// Many held locks, renewed every second, neither spin nor race.
//
// contract 3.5
func TestCase_B120(t *testing.T) {
	for range 3 {
		bubble(t, func(t *testing.T) {
			store := &recorder{Store: memstore.New()}
			m := newManager(t, store, actorlock.TTL(3*time.Second))
			var locks []*actorlock.Lock
			for i := range 2_000 {
				lock, err := m.Acquire(t.Context(), "k"+strconv.Itoa(i))
				require.NoError(t, err)
				locks = append(locks, lock)
			}
			const seconds = 30
			pass(seconds * time.Second)
			require.LessOrEqual(t, len(store.seen().extends), seconds*2_000*3/2, "about one extension a second each")
			for _, lock := range locks {
				require.NoError(t, lock.Context().Err())
				require.NoError(t, lock.Release(t.Context()))
			}
		})
	}

	// And in real time, where a spinning timer would show.
	store := &recorder{Store: memstore.New()}
	m := newManager(t, store, actorlock.TTL(9*time.Second)) // a busy machine may stall for longer than 3
	var locks []*actorlock.Lock
	for i := range 2_000 {
		lock, err := m.Acquire(t.Context(), "k"+strconv.Itoa(i))
		require.NoError(t, err)
		locks = append(locks, lock)
	}
	used := processorTime()
	const while = 3500 * time.Millisecond
	<-time.After(while)
	require.Less(t, processorTime()-used, while/2)
	eventually(t, func() bool { return len(store.seen().extends) >= 2_000 }, "renewals")
	for _, lock := range locks {
		require.NoError(t, lock.Release(t.Context()))
	}
}
