package actors_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

const shortRead = 150 * time.Millisecond

// badReplies are ways for the reply to a command not to arrive, and the clients
// that it does not arrive at.
var badReplies = map[string]struct {
	spoil  func(p *faultproxy.Proxy, match func([]byte) bool) <-chan struct{}
	client func(*redis.Options)
}{
	"lost": {
		func(p *faultproxy.Proxy, match func([]byte) bool) <-chan struct{} { return p.DropReplyOf(match, 1) },
		func(*redis.Options) {},
	},
	"lost, client does not retry": {
		func(p *faultproxy.Proxy, match func([]byte) bool) <-chan struct{} { return p.DropReplyOf(match, 1) },
		func(o *redis.Options) { o.MaxRetries = -1 },
	},
	"later than ReadTimeout": {
		func(p *faultproxy.Proxy, match func([]byte) bool) <-chan struct{} {
			return p.StallReplyOf(match, 1, 4*shortRead)
		},
		func(o *redis.Options) { o.ReadTimeout = shortRead },
	},
}

// The reply to an acquire is lost: the lock is the caller's all the same, long
// before its TTL.
func TestCase_B043(t *testing.T) {
	const ttl = time.Minute
	for name, bad := range badReplies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redisServer(t)
			proxy := faultproxy.New(t, srv.Addr())
			m := newManager(t, redisStore(t, userClient(t, proxy.Addr(), bad.client)), actorlock.TTL(ttl))
			require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
			spoilt := bad.spoil(proxy, faultproxy.Containing("\r\nk\r\n"))
			begin, runs := time.Now(), 0
			require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
				runs++
				return ctx.Err()
			}))
			require.Len(t, spoilt, 1)
			require.Equal(t, 1, runs)
			require.Less(t, time.Since(begin), ttl/10)
			require.Zero(t, srv.Client(t).Exists(t.Context(), "k").Val())
		})
	}
}

// The reply to a release is lost: no loss of the lock.
func TestCase_B045(t *testing.T) {
	for name, bad := range badReplies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redisServer(t)
			proxy := faultproxy.New(t, srv.Addr())
			m := newManager(t, redisStore(t, userClient(t, proxy.Addr(), bad.client)))
			require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
			for range 5 {
				spoilt := bad.spoil(proxy, releaseOf("k"))
				value, err := actorlock.WithLock(t.Context(), m, "k", func(context.Context) (int, error) { return 7, nil })
				require.NoError(t, err)
				require.Equal(t, 7, value)
				<-spoilt
				require.Zero(t, srv.Client(t).Exists(t.Context(), "k").Val())
			}
			lock, err := m.Acquire(t.Context(), "k")
			require.NoError(t, err)
			bad.spoil(proxy, releaseOf("k"))
			require.NoError(t, lock.Release(t.Context()))
		})
	}
}

// The reply to an acquire, which mints a token too, is lost each time.
func TestCase_B046(t *testing.T) {
	t.Run("virtual time", func(t *testing.T) {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
			m := newManager(t, f, actorlock.RetryDelay(time.Millisecond))
			last := uint64(0)
			for range 1000 {
				f.On(leasetest.OpAcquire, leasetest.Times(1, leasetest.Fault{Err: errDown, Executed: true}))
				token, err := actorlock.WithLock(t.Context(), m, "k", func(ctx context.Context) (uint64, error) {
					l, _ := actorlock.LeaseFrom(ctx)
					return l.Token, nil
				})
				require.NoError(t, err)
				require.Greater(t, token, last)
				last = token
			}
			require.Equal(t, 2000, f.Calls(leasetest.OpAcquire))
		})
	})
	t.Run("Redis", func(t *testing.T) {
		const keys, rounds = 8, 25
		srv := redisServer(t)
		look := srv.Client(t)
		var all sync.WaitGroup
		for i := range keys {
			proxy := faultproxy.New(t, srv.Addr())
			m := newManager(t, redisStore(t, userClient(t, proxy.Addr())))
			key := fmt.Sprint("k", i)
			all.Go(func() {
				last := uint64(0)
				for range rounds {
					lost := proxy.DropReplyOf(faultproxy.Containing("\r\n"+key+"\r\n"), 1)
					err := m.WithLock(context.Background(), key, func(ctx context.Context) error {
						l, _ := actorlock.LeaseFrom(ctx)
						stored, err := look.Get(ctx, "{"+key+"}:actorlock-Fence").Uint64()
						if stored != l.Token || l.Token <= last {
							return fmt.Errorf("token %d, stored %d, before %d, %w", l.Token, stored, last, err)
						}
						last = l.Token
						return nil
					})
					if err != nil || len(lost) != 1 {
						t.Errorf("%v, %d replies lost", err, len(lost))
					}
				}
			})
		}
		all.Wait()
	})
}
