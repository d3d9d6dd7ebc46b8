package actors_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// cutOff lets every command hang, as when a node is cut off from the server.
func cutOff(f *leasetest.Faulty) {
	for _, op := range []leasetest.Op{
		leasetest.OpAcquire, leasetest.OpExtend, leasetest.OpRelease, leasetest.OpReserve,
		leasetest.OpContended, leasetest.OpInspect,
	} {
		f.On(op, leasetest.Always(leasetest.Fault{Hang: true}))
	}
}

// lockLost is err as a lock that was lost.
func lockLost(t *testing.T, err error) *actorlock.LockLostError {
	t.Helper()
	var e *actorlock.LockLostError
	require.ErrorAs(t, err, &e)
	return e
}

// Of two nodes one is cut off while it holds and the other one waits.
func TestCase_B001(t *testing.T) {
	const ttl = 300 * time.Millisecond
	t.Run("virtual time", func(t *testing.T) {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			a, b := newManager(t, f, actorlock.TTL(ttl)), newManager(t, mem, actorlock.TTL(ttl), retryForever)
			one := holding(t, t.Context(), a, "k")
			two := queueUp(t, t.Context(), b, "k")
			time.Sleep(2 * ttl)
			l, _ := actorlock.LeaseFrom(one.ctx)
			cutOff(f)
			<-one.ctx.Done()
			require.False(t, time.Now().After(l.Deadline()))
			lockLost(t, context.Cause(one.ctx))
			_, err := one.outcome()
			lockLost(t, err)
			require.False(t, isClosed(two.in), "nobody else before that")
			two.granted()
			one.settle(0, nil)
			time.Sleep(5 * ttl)
			require.NoError(t, two.ctx.Err())
			two.release()
		})
	})
	t.Run("network", func(t *testing.T) {
		t.Parallel()
		srv := redisServer(t)
		look := srv.Client(t)
		proxy := faultproxy.New(t, srv.Addr())
		a := newManager(t, redisStore(t, userClient(t, proxy.Addr())), actorlock.TTL(ttl))
		b := redisManager(t, srv, actorlock.TTL(5*time.Second), retryForever)
		one := holding(t, t.Context(), a, "k")
		two := queueUp(t, t.Context(), b, "k")
		queued(t, b, "k", 1)
		proxy.BlackHole(true)
		two.granted()
		require.Error(t, one.ctx.Err(), "told before the other one entered")
		lockLost(t, context.Cause(one.ctx))
		_, err := one.outcome()
		require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseExpired)
		value := look.Get(t.Context(), "k").Val()
		proxy.Heal()
		one.settle(0, nil)
		// The next command of the node goes through behind the end of its callback.
		require.ErrorIs(t, a.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(1)), actorlock.ErrHeld)
		require.Equal(t, value, look.Get(t.Context(), "k").Val())
		two.release()
	})
}

// The key is deleted by hand under a callback.
func TestCase_B002(t *testing.T) {
	const ttl = 900 * time.Millisecond
	for name, returns := range map[string]bool{"blocks on": false, "returns nil": true} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
				m := newManager(t, f, actorlock.TTL(ttl))
				var deleted time.Time
				free := make(chan struct{})
				defer close(free)
				err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
					time.Sleep(2*ttl + ttl/7)
					deleted = time.Now()
					mem.Delete("k")
					<-ctx.Done()
					lockLost(t, context.Cause(ctx))
					if !returns {
						<-free
					}
					return nil
				})
				require.LessOrEqual(t, time.Since(deleted), ttl/3+about)
				require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseGone)
			})
		})
	}
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		srv := redisServer(t)
		m := redisManager(t, srv, actorlock.TTL(2*ttl))
		look := srv.Client(t)
		for _, waits := range []bool{true, false} {
			value, err := actorlock.WithLock(t.Context(), m, "k", func(ctx context.Context) (int, error) {
				require.NoError(t, look.Del(ctx, "k").Err())
				if waits {
					<-ctx.Done()
					lockLost(t, context.Cause(ctx))
				}
				return 7, nil
			}, actorlock.AwaitCallback())
			require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseGone)
			require.Equal(t, 7, value)
		}
	})
}

// Five nodes contend, and the key is deleted under whoever holds it, again and
// again.
func TestCase_B003(t *testing.T) {
	const rounds, ttl = 20, 3 * time.Second
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		ctx, stop := context.WithCancel(context.Background())
		type tenancy struct {
			ctx   context.Context
			since time.Time
		}
		entered, leave := make(chan tenancy, 1), make(chan struct{})
		var mu sync.Mutex
		var told []time.Time
		var nodes sync.WaitGroup
		for i := range 5 {
			m := newManager(t, mem, actorlock.TTL(ttl), retryForever, actorlock.RetryDelay(time.Duration(40+i)*time.Millisecond))
			nodes.Go(func() {
				for ctx.Err() == nil {
					err := m.WithLock(ctx, "k", func(ctx context.Context) error {
						entered <- tenancy{ctx, time.Now()}
						select {
						case <-ctx.Done():
						case <-leave:
						}
						return nil
					})
					if _, lost := errors.AsType[*actorlock.LockLostError](err); lost {
						mu.Lock()
						told = append(told, time.Now())
						mu.Unlock()
					}
				}
			})
		}
		holder := <-entered
		for i := range rounds {
			time.Sleep(time.Duration(i) * ttl / 7)
			mem.Delete("k")
			deleted := time.Now()
			next := <-entered
			<-holder.ctx.Done()
			require.LessOrEqual(t, time.Since(next.since), ttl/3+about, "overlap in round %d", i)
			require.LessOrEqual(t, time.Since(deleted), ttl/3+50*time.Millisecond)
			for begin := time.Now(); time.Since(begin) < 2*ttl; time.Sleep(ttl / 31) {
				require.GreaterOrEqual(t, peek(t, mem, "k").TTL, ttl/2, "round %d", i)
			}
			require.NoError(t, next.ctx.Err(), "the new holder is renewed")
			require.Empty(t, entered)
			holder = next
		}
		mu.Lock()
		require.Len(t, told, rounds, "one loss for each deletion")
		mu.Unlock()
		stop()
		close(leave)
		nodes.Wait()
	})
}

// A node is cut off, another one gets the lock after the expiry.
func TestCase_B007(t *testing.T) {
	const ttl = 500 * time.Millisecond
	for name, cut := range map[string]func(*faultproxy.Proxy){
		"refused":    func(p *faultproxy.Proxy) { p.Refuse(true) },
		"black hole": func(p *faultproxy.Proxy) { p.BlackHole(true) },
	} {
		for _, policy := range []actorlock.Policy{actorlock.LoseAtOnce, actorlock.RetryUntilDeadline} {
			t.Run(fmt.Sprint(name, policy), func(t *testing.T) {
				t.Parallel()
				srv := redisServer(t)
				proxy := faultproxy.New(t, srv.Addr())
				client := userClient(t, proxy.Addr(), func(o *redis.Options) { o.ReadTimeout = ttl })
				a := newManager(t, redisStore(t, client), actorlock.TTL(ttl), actorlock.OnRedisError(policy))
				b := redisManager(t, srv, actorlock.TTL(5*time.Second), retryForever)
				one := holding(t, t.Context(), a, "k")
				first := one.token()
				two := queueUp(t, t.Context(), b, "k")
				queued(t, b, "k", 1)
				cut(proxy)
				two.granted()
				require.Error(t, one.ctx.Err(), "left before the other one entered")
				require.Greater(t, two.token(), first)
				_, err := one.outcome()
				lockLost(t, err)
				two.release()
			})
		}
	}
}

// A callback lasts for many TTLs while others want the lock.
func TestCase_B008(t *testing.T) {
	t.Parallel()
	const ttl = 1200 * time.Millisecond
	srv := redisServer(t)
	m := redisManager(t, srv, actorlock.TTL(ttl))
	one := holding(t, t.Context(), m, "k")
	end := time.NewTimer(5 * ttl)
	others := make([]*running, 3)
	for i := range others {
		others[i] = queueUp(t, t.Context(), redisManager(t, srv, actorlock.TTL(ttl), retryForever), "k", actorlock.RetryDelay(20*time.Millisecond))
	}
	select {
	case <-one.ctx.Done():
		require.FailNow(t, "lost", "%v", context.Cause(one.ctx))
	case <-others[0].in:
		require.FailNow(t, "not alone")
	case <-others[1].in:
		require.FailNow(t, "not alone")
	case <-others[2].in:
		require.FailNow(t, "not alone")
	case <-end.C:
	}
	one.release()
	for _, o := range others {
		o.settle(0, nil)
	}
	for _, o := range others {
		_, err := o.outcome()
		require.NoError(t, err, "each gets its turn")
	}
	require.Equal(t, lease.State{}, peek(t, redisStore(t, srv.Client(t)), "k"))
}
