package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
)

// extended waits until key's time to live has grown.
func extended(t *testing.T, look *redis.Client, key string) {
	t.Helper()
	last := time.Duration(1 << 62)
	eventually(t, func() bool {
		left, err := look.PTTL(context.Background(), key).Result()
		if err != nil {
			return false
		}
		before := last
		last = left
		return left > before
	}, "an extension of "+key)
}

// Scripts that the server has forgotten are there again when they are needed:
// for a renewal and for a release, after a flush and after a restart.
//
// contract 9.2
func TestCase_B085(t *testing.T) {
	srv := redisServer(t, redistest.Persist())
	look := srv.Client(t)
	m := redisManager(t, srv, actorlock.TTL(1500*time.Millisecond), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	flush := func() { require.NoError(t, look.ScriptFlush(context.Background()).Err()) }
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		flush()
		extended(t, look, "k")
		flush() // right before the release
		return ctx.Err()
	}))
	require.Zero(t, look.Exists(t.Context(), "k").Val())

	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		value := look.Get(ctx, "k").Val()
		require.NoError(t, srv.Restart())
		require.Equal(t, value, look.Get(ctx, "k").Val(), "the key was kept")
		extended(t, look, "k")
		return ctx.Err()
	}, actorlock.TTL(4*time.Second)))
	require.Zero(t, look.Exists(t.Context(), "k").Val())

	require.NoError(t, m.WithLock(t.Context(), "k", func(context.Context) error {
		return srv.Restart() // right before the release
	}, actorlock.TTL(time.Minute)))
	require.Zero(t, look.Exists(t.Context(), "k").Val())
}

// A server that refuses writes is a server's error, not a taken lock; a release
// gets through all the same, and a renewal that cannot is a loss.
//
// contract 2.8
// contract 5.1
func TestCase_B087(t *testing.T) {
	srv := redisServer(t, redistest.Args("--maxmemory-policy", "noeviction"))
	look := srv.Client(t)
	set := func(name, value string) {
		require.NoError(t, look.ConfigSet(context.Background(), name, value).Err())
	}
	m := redisManager(t, srv, actorlock.TTL(2*time.Second))
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		set("maxmemory", "1")
		err := m.WithLock(context.Background(), "other", never(t), actorlock.RetryAttempts(1))
		require.NotErrorIs(t, err, actorlock.ErrHeld)
		require.ErrorContains(t, err, "OOM")
		require.Equal(t, 2, refused(t, err).Attempts)
		extended(t, look, "k")
		return ctx.Err()
	}), "out of memory for all of it")
	require.Zero(t, look.Exists(t.Context(), "k").Val(), "deleted")
	set("maxmemory", "0")

	err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		set("min-replicas-to-write", "1") // which no write gets past
		<-ctx.Done()
		return nil
	}, actorlock.AwaitCallback())
	var lost *actorlock.LockLostError
	require.ErrorAs(t, err, &lost)
	require.ErrorContains(t, err, "NOREPLICAS")
	err = m.WithLock(t.Context(), "other", never(t), actorlock.RetryAttempts(0))
	require.NotErrorIs(t, err, actorlock.ErrHeld)
	require.ErrorContains(t, err, "NOREPLICAS")
}
