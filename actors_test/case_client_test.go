package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// A cancel ends a call although its command is in flight on a frozen socket;
// what the command has taken is given back behind it.
//
// contract 2.7
func TestCase_B110(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	for _, heeds := range []bool{true, false} {
		proxy := faultproxy.New(t, srv.Addr())
		m := newManager(t, redisStore(t, userClient(t, proxy.Addr(), func(o *redis.Options) {
			o.ReadTimeout = 5 * time.Second
			o.ContextTimeoutEnabled = heeds
		})))
		require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
		proxy.HoldReplies(true)
		w := start(m, "k", never(t), actorlock.TTL(time.Minute))
		eventually(t, func() bool { return look.Exists(t.Context(), "k").Val() == 1 }, "the command was executed")
		<-time.After(100 * time.Millisecond)
		begin := time.Now()
		w.cancel(nil)
		require.ErrorIs(t, w.wait(), context.Canceled)
		require.Less(t, time.Since(begin), 2500*time.Millisecond)
		require.EqualValues(t, 1, look.Exists(t.Context(), "k").Val())
		proxy.HoldReplies(false)
		eventually(t, func() bool { return look.Exists(t.Context(), "k").Val() == 0 }, "the key is given back")
	}
}

// A pool that the application has used up: with connections of their own
// renewals go on, without them each loss is reported before the key is free.
//
// contract 9.3
func TestCase_B112(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	const ttl = 2 * time.Second
	for _, own := range []bool{true, false} {
		client := userClient(t, srv.Addr(), func(o *redis.Options) { o.PoolSize = 2 })
		var opts []redisstore.Option
		if own {
			opts = append(opts, redisstore.RenewWith(userClient(t, srv.Addr())))
		}
		m := newManager(t, redisStore(t, client, opts...), actorlock.TTL(ttl))
		var locks []*actorlock.Lock
		for i := range 20 {
			lock, err := m.Acquire(t.Context(), fmt.Sprint(own, i))
			require.NoError(t, err)
			locks = append(locks, lock)
		}
		var blocked sync.WaitGroup
		for range 2 {
			blocked.Go(func() { client.BLPop(context.Background(), time.Minute, "never") })
		}
		eventually(t, func() bool {
			return strings.Contains(look.Info(t.Context(), "clients").Val(), "blocked_clients:2\r\n")
		}, "both connections are in use")
		begin := time.Now()
		kept := 0
		for i, lock := range locks {
			// The client may have connections of its own for pipelines.
			key := fmt.Sprint(own, i)
			for time.Since(begin) < 2*ttl && lock.Context().Err() == nil {
				<-time.After(20 * time.Millisecond)
			}
			if lock.Context().Err() == nil {
				require.Positive(t, look.PTTL(t.Context(), key).Val(), "a lock that is believed in is there")
				kept++
				continue
			}
			require.False(t, own)
			var lost *actorlock.LockLostError
			require.ErrorAs(t, context.Cause(lock.Context()), &lost)
		}
		require.NoError(t, look.RPush(t.Context(), "never", "one", "two").Err())
		blocked.Wait()
		for _, lock := range locks {
			err := lock.Release(t.Context())
			if err == nil {
				kept--
			}
		}
		require.Zero(t, kept, "whoever was told nothing still had the lock")
	}
}
