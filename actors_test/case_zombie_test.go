package actors_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// A renewal is on its way when its lock is released, and comes after the delete
// or is answered after it.
func TestCase_B018(t *testing.T) {
	const ttl = 900 * time.Millisecond
	for name, fault := range map[string]leasetest.Fault{
		"nothing is late":    {},
		"the renewal":        {Before: 50 * time.Millisecond},
		"its reply":          {After: 50 * time.Millisecond},
		"its failure":        {After: 50 * time.Millisecond, Err: io.EOF, Executed: true},
		"a panic, late":      {After: 50 * time.Millisecond, Panic: "ouch", Executed: true},
		"it, and is no more": {Hang: true, Executed: true},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
				log := quietLogger(t)
				m := startManager(t, actorlock.Config{
					Store: f, Logger: log.Logger, Defaults: []actorlock.Option{actorlock.TTL(ttl)},
				})
				for range 20 {
					sent := make(chan struct{}, 16)
					f.On(leasetest.OpExtend, func(context.Context, string) leasetest.Fault {
						sent <- struct{}{}
						return fault
					})
					var seen context.Context
					require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
						seen = ctx
						<-sent
						return nil
					}))
					require.Equal(t, actorlock.ErrReleased, context.Cause(seen))
					require.False(t, peek(t, mem, "k").Held)
					f.On(leasetest.OpExtend, nil)
					next := holding(t, t.Context(), m, "k")
					time.Sleep(2 * ttl)
					require.NoError(t, next.ctx.Err(), "nothing of it comes after the next holder")
					next.release()
				}
				require.Zero(t, log.count("lock lost"), "nor is anybody told so")
			})
		})
	}
}

// The connection ends in mid-hold, then the callback does.
func TestCase_B021(t *testing.T) {
	const limit = 3 * time.Second // for the release
	cases := map[string]leasetest.Fault{"error": {Err: io.EOF}, "hung": {Hang: true}, "panic": {Panic: "ouch"}}
	for name, fault := range cases {
		for _, await := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " await=", await), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
					m := newManager(t, f)
					require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
					before := runtime.NumGoroutine()
					var opts []actorlock.Option
					if await {
						opts = append(opts, actorlock.AwaitCallback())
					}
					f.On(leasetest.OpRelease, leasetest.Always(fault))
					for i := range 5 * strangers {
						var ended time.Time
						require.NoError(t, m.WithLock(context.Background(), fmt.Sprint("k", i), func(context.Context) error {
							ended = time.Now()
							return nil
						}, opts...), "a failed release is not reported")
						require.LessOrEqual(t, time.Since(ended), limit+about)
					}
					f.On(leasetest.OpRelease, nil)
					if name != "hung" { // a store that never returns keeps its goroutines
						time.Sleep(time.Second)
						require.LessOrEqual(t, runtime.NumGoroutine(), before+strangers)
					}
					time.Sleep(time.Minute)
					require.Zero(t, mem.Len(), "it has ended with its TTL")
				})
			})
		}
	}
	for name, breakIt := range map[string]func(*faultproxy.Proxy){
		"cut":        (*faultproxy.Proxy).CutAll,
		"refused":    func(p *faultproxy.Proxy) { p.Refuse(true) },
		"black hole": func(p *faultproxy.Proxy) { p.BlackHole(true) },
	} {
		for _, await := range []bool{false, true} {
			t.Run(fmt.Sprint("network ", name, " await=", await), func(t *testing.T) {
				t.Parallel()
				srv := redisServer(t)
				proxy := faultproxy.New(t, srv.Addr())
				client := userClient(t, proxy.Addr(), func(o *redis.Options) { o.ReadTimeout = time.Second })
				m := newManager(t, redisStore(t, client))
				var opts []actorlock.Option
				if await {
					opts = append(opts, actorlock.AwaitCallback())
				}
				var ended time.Time
				require.NoError(t, m.WithLock(context.Background(), "k", func(context.Context) error {
					breakIt(proxy)
					ended = time.Now()
					return nil
				}, opts...))
				require.Less(t, time.Since(ended), limit+2*time.Second)
				proxy.Heal()
			})
		}
	}
}

// A callback takes no notice of anything. It keeps its lock until it has had it
// for MaxHold, or else until the manager is shut down, and not longer.
func TestCase_B022(t *testing.T) {
	const ttl = time.Second
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		a, b := newManager(t, f, actorlock.TTL(ttl)), newManager(t, mem, actorlock.TTL(ttl))
		begin := time.Now()
		stuck := holding(t, t.Context(), a, "k", actorlock.MaxHold(10*ttl))
		next := queueUp(t, t.Context(), b, "k", retryForever)
		_, err := stuck.outcome()
		require.ErrorIs(t, lockLost(t, err), actorlock.ErrHeldTooLong)
		require.Equal(t, err, context.Cause(stuck.ctx))
		require.InDelta(t, 10*ttl, time.Since(begin), float64(about))
		require.False(t, isClosed(next.in), "it may still be at work")
		renewals := f.Calls(leasetest.OpExtend)
		next.granted()
		require.LessOrEqual(t, time.Since(begin), 11*ttl+about)
		pass(10 * ttl)
		require.Equal(t, renewals, f.Calls(leasetest.OpExtend), "no renewal after that")
		next.release()
	})
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		a, b := newManager(t, f, actorlock.TTL(ttl)), newManager(t, mem, actorlock.TTL(ttl))
		stuck := holding(t, t.Context(), a, "k")
		next := queueUp(t, t.Context(), b, "k", retryForever)
		time.Sleep(10 * ttl)
		require.NoError(t, stuck.ctx.Err())
		require.False(t, isClosed(next.in))
		require.NoError(t, a.Shutdown(t.Context()))
		closed := time.Now()
		_, err := stuck.outcome()
		require.ErrorIs(t, lockLost(t, err), actorlock.ErrShutdown)
		require.Equal(t, err, context.Cause(stuck.ctx))
		next.granted()
		require.LessOrEqual(t, time.Since(closed), about)
		renewals := f.Calls(leasetest.OpExtend)
		pass(10 * ttl)
		require.Equal(t, renewals, f.Calls(leasetest.OpExtend), "no renewal after that")
		next.release()
	})
}
