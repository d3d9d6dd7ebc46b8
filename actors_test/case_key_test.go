package actors_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
)

// A key of another type is a clear error at once, without a second attempt, and
// the data is left alone.
//
// contract 2.8
func TestCase_B088(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	m := redisManager(t, srv)
	for name, put := range map[string][]any{
		"hash":   {"HSET", "k", "field", "value"},
		"list":   {"RPUSH", "k", "one", "two"},
		"set":    {"SADD", "k", "one"},
		"zset":   {"ZADD", "k", 1, "one"},
		"stream": {"XADD", "k", "1-1", "field", "value"},
	} {
		require.NoError(t, look.Do(t.Context(), put...).Err())
		before := look.Dump(t.Context(), "k").Val()
		srv.ResetCalls(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := m.WithLock(ctx, "k", never(t), retryForever)
		require.NoError(t, ctx.Err(), "%s: it waited", name)
		cancel()
		require.ErrorContains(t, err, "WRONGTYPE", name)
		require.NotErrorIs(t, err, actorlock.ErrHeld)
		require.Equal(t, 1, refused(t, err).Attempts)
		require.LessOrEqual(t, sent(srv.Calls(t)), 2, "one, and another when the script was not there yet")
		_, err = m.Inspect(t.Context(), "k")
		require.ErrorContains(t, err, "WRONGTYPE")
		require.Equal(t, before, look.Dump(t.Context(), "k").Val())
		require.EqualValues(t, -1, look.PTTL(t.Context(), "k").Val())
		require.NoError(t, look.Del(t.Context(), "k").Err())
	}
}

// A value in whatever format is somebody's: waited for, entered when it has
// expired, and not deleted before.
//
// contract 7.1
func TestCase_B089(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	m := startManager(t, actorlock.Config{
		Store: redisStore(t, userClient(t, srv.Addr())), Node: "this node",
		Defaults: []actorlock.Option{retryForever, actorlock.RetryDelay(20 * time.Millisecond)},
	})
	const ttl = 2 * time.Second
	var calls []*call
	values := []string{"", "0", "/", "v1:node:17", `{"owner":"x","count":2}`, "\x00\xff\r\n", strings.Repeat("/", 70_000)}
	for i, garbage := range values {
		key := strconv.Itoa(i)
		set := time.Now()
		require.NoError(t, look.Set(t.Context(), key, garbage, ttl).Err())
		var refusal *actorlock.AcquireError
		require.ErrorAs(t, m.WithLock(t.Context(), key, never(t), actorlock.RetryAttempts(0)), &refusal)
		require.ErrorIs(t, refusal, actorlock.ErrHeld)
		calls = append(calls, start(m, key, func(context.Context) error {
			// The server counts from when it got the command.
			if waited := time.Since(set); waited < ttl {
				t.Errorf("%.20q: entered after %v", garbage, waited)
			}
			return nil
		}))
	}
	// While they wait, the values are as they were, until they expire.
	for i, c := range calls {
		for got, err := values[i], error(nil); err == nil && !c.settled(); got, err = look.Get(t.Context(), strconv.Itoa(i)).Result() {
			if !strings.HasPrefix(got, "this node/") {
				require.Equal(t, values[i], got)
			}
		}
		require.NoError(t, c.wait())
		require.Zero(t, look.Exists(t.Context(), strconv.Itoa(i)).Val())
	}
}

// With a prefix the application's own key of the same name is no lock, and the
// lock none of the application's data.
//
// contract 2.1
func TestCase_B090(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	require.NoError(t, look.HSet(t.Context(), "orders:1", "state", "new").Err())
	m := startManager(t, actorlock.Config{Store: redisStore(t, userClient(t, srv.Addr())), Prefix: "lock:"})
	require.NoError(t, m.WithLock(t.Context(), "orders:1", func(ctx context.Context) error {
		l, _ := actorlock.LeaseFrom(ctx)
		require.Equal(t, "orders:1", l.Key)
		require.EqualValues(t, 1, look.Exists(ctx, "lock:orders:1").Val())
		for _, key := range look.Keys(ctx, "*").Val() {
			require.True(t, key == "orders:1" || strings.Contains(key, "lock:orders:1"), key)
		}
		return look.HSet(ctx, "orders:1", "state", "paid").Err()
	}, actorlock.RetryAttempts(0)))
	require.Zero(t, look.Exists(t.Context(), "lock:orders:1").Val())
	require.Equal(t, map[string]string{"state": "paid"}, look.HGetAll(t.Context(), "orders:1").Val())
}
