package actors_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// A lock was lost to a renewal that failed; the next one on the same key is
// renewed.
func TestCase_B009(t *testing.T) {
	const ttl = 600 * time.Millisecond
	for name, fault := range map[string]leasetest.Fault{"error": {Err: io.EOF}, "black hole": {Hang: true}} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
				m := newManager(t, f, actorlock.TTL(ttl), retryForever)
				for range 3 {
					one := holding(t, t.Context(), m, "k")
					f.On(leasetest.OpExtend, leasetest.Always(fault))
					_, err := one.outcome()
					lockLost(t, err)
					time.Sleep(ttl)
					f.On(leasetest.OpExtend, nil)
					again := holding(t, t.Context(), m, "k")
					one.settle(0, nil)
					for begin := time.Now(); time.Since(begin) < 5*ttl; time.Sleep(10 * time.Millisecond) {
						require.GreaterOrEqual(t, peek(t, mem, "k").TTL, ttl/2)
					}
					again.release()
				}
			})
		})
	}
	t.Run("network", func(t *testing.T) {
		t.Parallel()
		srv := redisServer(t)
		look := srv.Client(t)
		proxy := faultproxy.New(t, srv.Addr())
		m := newManager(t, redisStore(t, userClient(t, proxy.Addr())), actorlock.TTL(ttl), retryForever)
		one := holding(t, t.Context(), m, "k")
		proxy.Refuse(true)
		_, err := one.outcome()
		lockLost(t, err)
		eventually(t, func() bool { return look.Exists(t.Context(), "k").Val() == 0 })
		proxy.Heal()
		again := holding(t, t.Context(), m, "k", actorlock.TTL(2*time.Second))
		for range 4 { // more than one TTL
			goesOn(t, again.ctx)
			require.Positive(t, look.PTTL(t.Context(), "k").Val())
		}
		again.release()
	})
}

// The server is busy with a script for a good part of the TTL.
func TestCase_B011(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	srv := redisServer(t, redistest.Args("--lua-time-limit", "10"))
	look := srv.Client(t)
	log := quietLogger(t)
	m := startManager(t, actorlock.Config{
		Store: redisStore(t, userClient(t, srv.Addr())), Logger: log.Logger,
		Defaults: []actorlock.Option{actorlock.TTL(ttl), actorlock.OnRedisError(actorlock.RetryUntilDeadline)},
	})
	h := holding(t, t.Context(), m, "k")
	begin := time.Now()
	blocker := userClient(t, srv.Addr())
	ended := make(chan error, 1)
	go func() { ended <- blocker.Eval(context.Background(), "while true do end", nil).Err() }()
	eventually(t, func() bool { return log.count("BUSY") > 0 }, "a renewal that was refused")
	<-time.After(ttl*2/5 - time.Since(begin))
	require.NoError(t, look.ScriptKill(t.Context()).Err())
	require.ErrorContains(t, <-ended, "killed")

	goesOn(t, h.ctx) // after a failure
	goesOn(t, h.ctx) // and as ever from then on
	require.Positive(t, look.PTTL(t.Context(), "k").Val())
	h.release()
}

// Two hundred holds, one after the other and beside each other.
func TestCase_B012(t *testing.T) {
	const keys, rounds, ttl = 50, 4, 300 * time.Millisecond
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		f.On(leasetest.OpExtend, func(context.Context, string) leasetest.Fault {
			return leasetest.Fault{Before: rand.N(ttl / 50), After: rand.N(ttl / 50)}
		})
		m := newManager(t, f, actorlock.TTL(ttl))
		var mu sync.Mutex
		in := map[string]bool{}
		mark := func(key string, held bool) {
			mu.Lock()
			defer mu.Unlock()
			in[key] = held
		}
		var all sync.WaitGroup
		for i := range keys {
			all.Go(func() {
				key := fmt.Sprint("k", i)
				time.Sleep(rand.N(ttl))
				for range rounds {
					err := m.WithLock(t.Context(), key, func(ctx context.Context) error {
						mark(key, true)
						defer mark(key, false)
						time.Sleep(3 * ttl)
						return ctx.Err()
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		samples := 0
		for !isClosed(done) {
			mu.Lock()
			for key, held := range in {
				if held {
					require.GreaterOrEqual(t, peek(t, mem, key).TTL, ttl/2, key)
					samples++
				}
			}
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
		}
		require.Greater(t, samples, keys*rounds*3*30*9/10)
	})
}

// Short holds hammer a key, and now and then one is long.
func TestCase_B013(t *testing.T) {
	const callers, turns, every, ttl = 50, 40, 97, 300 * time.Millisecond
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		nodes := []*actorlock.Manager{
			newManager(t, mem, actorlock.TTL(ttl), retryForever, actorlock.RetryDelay(20*time.Millisecond)),
			newManager(t, mem, actorlock.TTL(ttl), retryForever, actorlock.RetryDelay(20*time.Millisecond)),
		}
		holds, long := 0, 0 // guarded by the lock itself
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for range turns {
					err := nodes[i%2].WithLock(t.Context(), "k", func(ctx context.Context) error {
						if holds++; holds%every != 0 {
							time.Sleep(rand.N(2 * time.Millisecond))
							return ctx.Err()
						}
						long++
						for begin := time.Now(); time.Since(begin) < 4*ttl; time.Sleep(10 * time.Millisecond) {
							if left := peek(t, mem, "k").TTL; left < ttl/2 {
								return fmt.Errorf("not renewed: %v left after %v", left, time.Since(begin))
							}
						}
						return ctx.Err()
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, callers*turns, holds)
		require.Equal(t, callers*turns/every, long)
	})
}

// Each renewal moves the deadline that the holder is shown.
func TestCase_B014(t *testing.T) {
	const ttl = time.Second
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{After: 20 * time.Millisecond}))
		m := newManager(t, f, actorlock.TTL(ttl))
		h := holding(t, t.Context(), m, "k")
		l, _ := actorlock.LeaseFrom(h.ctx)
		last, moved := l.Deadline(), 0
		for begin := time.Now(); time.Since(begin) < 10*ttl; time.Sleep(5 * time.Millisecond) {
			require.NoError(t, h.ctx.Err())
			l, ok := actorlock.LeaseFrom(h.ctx)
			require.True(t, ok)
			require.True(t, l.Deadline().After(time.Now().Add(ttl/2)), "after %v", time.Since(begin))
			require.False(t, l.Deadline().After(time.Now().Add(ttl)))
			require.False(t, l.Deadline().Before(last), "never backward")
			if l.Deadline().After(last) {
				moved++
			}
			last = l.Deadline()
		}
		require.GreaterOrEqual(t, moved, 29, "with each renewal")
		require.InDelta(t, f.Calls(leasetest.OpExtend), moved, 1, "one may be in flight")
		h.release()
	})
}
