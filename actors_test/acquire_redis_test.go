package actors_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
)

// contract 2.1
func TestLockIsAKeyOfRedis(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	m := startManager(t, actorlock.Config{Store: redisStore(t, userClient(t, srv.Addr())), Node: "node/7"})
	value := regexp.MustCompile(`^node/7/([0-9a-f]{32})$`)
	values := map[string]bool{}
	for _, key := range []string{"k", "report:rebuild", "with space", "{tag}x", "}{", "{}", "naïve\x00\xff\r\n", strings.Repeat("long", 500)} {
		require.NoError(t, m.WithLock(t.Context(), key, func(ctx context.Context) error {
			require.Equal(t, "string", look.Type(ctx, key).Val())
			got := look.Get(ctx, key).Val()
			require.Regexp(t, value, got)
			require.False(t, values[got], "random for each acquisition")
			values[got] = true
			ttl := look.PTTL(ctx, key).Val()
			require.LessOrEqual(t, ttl, 10*time.Second)
			require.Greater(t, ttl, 5*time.Second)
			return nil
		}, actorlock.TTL(10*time.Second)), "%q", key)
		require.Zero(t, look.Exists(t.Context(), key).Val())
	}
}

// contract 2.1
// contract 2.11
func TestPrefixInRedis(t *testing.T) {
	srv := redisServer(t)
	m := startManager(t, actorlock.Config{Store: redisStore(t, userClient(t, srv.Addr())), Prefix: "app:"})
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		require.EqualValues(t, 1, srv.Client(t).Exists(ctx, "app:k").Val())
		require.Zero(t, srv.Client(t).Exists(ctx, "k").Val())
		return nil
	}))
}

// contract 2.1
func TestValueAndExpiryAreSetInOneStep(t *testing.T) {
	srv := redisServer(t)
	m := redisManager(t, srv)
	mon := srv.Monitor(t)
	require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.TTL(7654*time.Millisecond)))
	var writes []string
	for _, line := range mon.Lines() {
		if _, command, _ := strings.Cut(line, "] "); regexp.MustCompile(`(?i)^"(set|setnx|pexpire|expire|getset|append)" "k"`).MatchString(command) {
			writes = append(writes, command)
		}
	}
	require.Len(t, writes, 1)
	require.Regexp(t, `(?i)^"set" "k" "[^"]+/[0-9a-f]{32}" "nx" "px" "7654"$`, writes[0])
}

// contract 2.2
func TestDefaultsInRedis(t *testing.T) {
	srv := redisServer(t)
	m := redisManager(t, srv)
	require.NoError(t, srv.Client(t).Set(t.Context(), "k", "other/1", 0).Err())
	begin := time.Now()
	err := m.WithLock(t.Context(), "k", never(t))
	require.ErrorIs(t, err, actorlock.ErrHeld)
	require.Equal(t, 11, refused(t, err).Attempts)
	require.Greater(t, time.Since(begin), 1790*time.Millisecond)
	require.Less(t, time.Since(begin), 2*time.Second+3*time.Second)
}

// sent counts the scripts that clients have sent.
func sent(calls map[string]int) int { return calls["evalsha"] + calls["eval"] }

// contract 2.5
func TestManyWaitersCostRedisNoMoreThanOne(t *testing.T) {
	srv := redisServer(t)
	require.NoError(t, srv.Client(t).Set(t.Context(), "k", "other/1", 0).Err())
	cost := func(n int) int {
		m := redisManager(t, srv)
		var calls []*call
		for range n {
			calls = append(calls, start(m, "k", never(t), retryForever, actorlock.RetryDelay(50*time.Millisecond)))
		}
		queued(t, m, "k", n)
		srv.ResetCalls(t)
		<-time.After(time.Second)
		count := srv.Calls(t)
		for _, c := range calls {
			c.cancel(nil)
			_ = c.wait()
		}
		return sent(count)
	}
	one, many := cost(1), cost(200)
	require.Greater(t, one, 10)
	require.Less(t, many, one*3/2+5, "one waiter costs %d commands", one)
}

// contract 2.5
// contract 4.4
func TestHandOverAmongManyWaitersIsCheap(t *testing.T) {
	srv := redisServer(t)
	m := redisManager(t, srv)
	h := hold(t, m, "k")
	var calls []*call
	for range 200 {
		calls = append(calls, start(m, "k", nothing, retryForever))
	}
	queued(t, m, "k", 200)
	srv.ResetCalls(t)
	require.NoError(t, h.let())
	for _, c := range calls {
		require.NoError(t, c.wait())
	}
	require.Less(t, sent(srv.Calls(t)), 40)
	require.Zero(t, srv.Client(t).Exists(t.Context(), "k").Val())
}

// contract 2.5
func TestManagersShareTheWorkOfOneKey(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	counter := 0 // guarded by the lock alone: the race detector looks on, too
	var calls []*call
	for range 3 {
		m := redisManager(t, srv, retryForever, actorlock.RetryDelay(20*time.Millisecond))
		for range 8 {
			for range 10 {
				calls = append(calls, start(m, "k", func(ctx context.Context) error {
					n := look.Incr(ctx, "inside").Val()
					counter++
					look.Decr(ctx, "inside")
					if n != 1 {
						t.Errorf("%d holders at a time", n)
					}
					return nil
				}))
			}
		}
	}
	for _, c := range calls {
		require.NoError(t, c.wait())
	}
	require.Equal(t, 240, counter)
}
