package actors_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 5.5: after a loss the node can have the key again, as soon as the
// store gives it, and the new lease is renewed as if new; the end of the old
// callback touches nothing of it.
func TestLostAndAcquiredAgain(t *testing.T) {
	const ttl = 3 * time.Second
	for name, spoil := range map[string]func(f *leasetest.Faulty, mem *memstore.Store){
		"gone": func(_ *leasetest.Faulty, mem *memstore.Store) { mem.Delete("k") },
		"an error": func(f *leasetest.Faulty, _ *memstore.Store) {
			f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Err: io.EOF}))
		},
		"hung": func(f *leasetest.Faulty, _ *memstore.Store) {
			f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true}))
		},
	} {
		for _, waiting := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " waiting=", waiting), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
					m := newManager(t, f, actorlock.TTL(ttl), actorlock.RetryAttempts(forever))
					begin := time.Now()
					old := holding(t, t.Context(), m, "k")
					var again *running
					if waiting {
						again = queueUp(t, t.Context(), m, "k")
					}
					spoil(f, mem)
					_, err := old.outcome()
					require.ErrorAs(t, err, new(*actorlock.LockLostError))
					f.On(leasetest.OpExtend, nil)
					if !waiting {
						again = queueUp(t, t.Context(), m, "k")
					}
					again.granted()
					require.LessOrEqual(t, time.Since(begin), ttl+about)
					require.Greater(t, again.token(), old.token())
					time.Sleep(2 * ttl)
					releases := f.Calls(leasetest.OpRelease)
					old.settle(0, nil)
					time.Sleep(2 * ttl)
					require.LessOrEqual(t, f.Calls(leasetest.OpRelease), releases+1)
					require.NoError(t, again.ctx.Err())
					require.GreaterOrEqual(t, peek(t, mem, "k").TTL, ttl/2)
					again.release()
					require.False(t, peek(t, mem, "k").Held)
				})
			})
		}
	}
}

// contract 5.5 with 5.2: while the old value stands, the end of its callback
// makes room for whoever waits.
func TestLostMakesRoomWhenTheCallbackSettles(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Hour), actorlock.RetryAttempts(forever))
		f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Err: io.EOF}))
		old := holding(t, t.Context(), m, "k")
		_, err := old.outcome()
		require.ErrorIs(t, err, io.EOF)
		f.On(leasetest.OpExtend, nil)
		again := queueUp(t, t.Context(), m, "k")
		time.Sleep(time.Minute)
		require.False(t, isClosed(again.in))
		old.settle(0, nil)
		begin := time.Now()
		again.granted()
		require.LessOrEqual(t, time.Since(begin), 200*time.Millisecond+about)
	})
}

// contract 5.5 in Redis: stolen, freed, acquired again and renewed.
func TestLostAndAcquiredAgainInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	const ttl = 600 * time.Millisecond
	m := redisManager(t, srv, actorlock.TTL(ttl))
	old := holding(t, t.Context(), m, "k")
	require.NoError(t, other.Set(t.Context(), "k", "foreign", 0).Err())
	_, err := old.outcome()
	require.ErrorIs(t, err, actorlock.ErrLeaseTaken)
	require.NoError(t, other.Del(t.Context(), "k").Err())
	again := holding(t, t.Context(), m, "k")
	old.settle(0, nil)
	select {
	case <-again.ctx.Done():
		require.FailNow(t, "lost again", "%v", context.Cause(again.ctx))
	case <-time.After(2 * ttl):
	}
	again.release()
}

// contract 5.6: a clean release never reports a loss, with an extension at any
// stage of its way.
func TestLostIsNotACleanRelease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		const ttl = 3 * time.Second
		m := newManager(t, f, actorlock.TTL(ttl))
		for _, fault := range []leasetest.Fault{{}, {Before: 20 * time.Millisecond}, {After: 20 * time.Millisecond}} {
			f.On(leasetest.OpExtend, leasetest.Always(fault))
			for d := -30 * time.Millisecond; d <= 30*time.Millisecond; d += 500 * time.Microsecond {
				for _, from := range []time.Duration{ttl / 3, ttl/3 - ttl/12} {
					h := holding(t, t.Context(), m, "k")
					time.Sleep(from + d)
					h.release()
				}
			}
		}
		require.Greater(t, f.Calls(leasetest.OpExtend), 100)
	})
}

// contract 5.6, in real time: releases and hand-overs race with extensions.
func TestLostIsNotACleanReleaseRacing(t *testing.T) {
	t.Parallel()
	const ttl = 1200 * time.Millisecond
	f := leasetest.NewFaulty(memstore.New())
	m := newManager(t, f, actorlock.TTL(ttl), actorlock.RetryAttempts(forever))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				stay := time.NewTimer(ttl/4 + time.Duration((i*7+n*13)%200)*time.Millisecond)
				err := m.WithLock(context.Background(), fmt.Sprint("k", i/2), func(context.Context) error {
					<-stay.C
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Positive(t, f.Calls(leasetest.OpExtend))
}
