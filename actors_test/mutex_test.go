package actors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// mutex is the older lock: SET NX PX, and deletion by compare-and-delete.
type mutex struct {
	client *redis.Client
	key    string
	value  string
}

func (x mutex) lock(t *testing.T, ttl time.Duration) bool {
	t.Helper()
	ok, err := x.client.SetNX(context.Background(), x.key, x.value, ttl).Result()
	require.NoError(t, err)
	return ok
}

func (x mutex) unlock(t *testing.T) bool {
	t.Helper()
	const script = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	n, err := x.client.Eval(context.Background(), script, []string{x.key}, x.value).Int()
	require.NoError(t, err)
	return n == 1
}

func withMutex(t *testing.T) (*redistest.Server, *actorlock.Manager, mutex) {
	t.Helper()
	srv := redisServer(t)
	return srv, redisManager(t, srv), mutex{client: srv.Client(t), key: "k", value: "17"}
}

// contract 7.1
func TestMutexIsExcluded(t *testing.T) {
	_, m, x := withMutex(t)
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		before := x.client.Get(ctx, "k").Val()
		require.False(t, x.lock(t, time.Hour))
		require.False(t, x.unlock(t), "it cannot release our lock")
		require.Equal(t, before, x.client.Get(ctx, "k").Val())
		require.LessOrEqual(t, x.client.PTTL(ctx, "k").Val(), 30*time.Second, "nor lengthen it")
		return ctx.Err()
	}))
	require.True(t, x.lock(t, time.Hour), "and has its turn then")
	require.True(t, x.unlock(t))
}

// contract 7.1
func TestMutexExcludes(t *testing.T) {
	_, m, x := withMutex(t)
	require.True(t, x.lock(t, time.Minute))
	err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(3), actorlock.RetryDelay(10*time.Millisecond))
	require.ErrorIs(t, err, actorlock.ErrHeld)
	require.Empty(t, refused(t, err).Holder)
	require.Greater(t, refused(t, err).TTL, 50*time.Second)
	require.Equal(t, "17", x.client.Get(t.Context(), "k").Val(), "its lock was not touched")
	require.LessOrEqual(t, x.client.PTTL(t.Context(), "k").Val(), time.Minute)

	w := start(m, "k", nothing, retryForever, actorlock.RetryDelay(20*time.Millisecond))
	queued(t, m, "k", 1)
	require.True(t, x.unlock(t), "and it can release it")
	require.NoError(t, w.wait(), "which is found by polling")
}

// contract 7.1
func TestMutexThatTookOurKeyKeepsIt(t *testing.T) {
	_, m, x := withMutex(t)
	err := m.WithLock(t.Context(), "k", func(context.Context) error {
		require.EqualValues(t, 1, x.client.Del(context.Background(), "k").Val())
		require.True(t, x.lock(t, time.Minute))
		return nil
	}, actorlock.TTL(10*time.Second))
	require.ErrorIs(t, err, actorlock.ErrLeaseTaken)
	require.Equal(t, "17", x.client.Get(t.Context(), "k").Val())
	require.Greater(t, x.client.PTTL(t.Context(), "k").Val(), 30*time.Second)
	require.True(t, x.unlock(t))
}

// contract 7.1
func TestForeignValuesAreHeld(t *testing.T) {
	_, m, x := withMutex(t)
	for _, value := range []string{"", "0", "/", "node/x", "\x00\xff\r\n", strings.Repeat("v", 1<<20)} {
		x.value = value
		require.True(t, x.lock(t, time.Minute))
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(1), actorlock.RetryDelay(time.Millisecond))
		require.ErrorIs(t, err, actorlock.ErrHeld, "%.10q", value)
		require.Less(t, len(err.Error()), 1000)
		info, err := m.Inspect(t.Context(), "k")
		require.NoError(t, err)
		require.True(t, info.Held)
		require.True(t, x.unlock(t))
	}
}

// contract 7.1
func TestForeignEmptyValueInMemory(t *testing.T) {
	store := memstore.New()
	store.Steal("k", "", time.Minute)
	err := newManager(t, store).WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
	require.ErrorIs(t, err, actorlock.ErrHeld)
}

// contract 7.1
func TestForeignKeyWithoutExpiry(t *testing.T) {
	_, m, x := withMutex(t)
	require.True(t, x.lock(t, 0))
	err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(5), actorlock.RetryDelay(20*time.Millisecond))
	require.ErrorIs(t, err, actorlock.ErrHeld)
	require.Equal(t, actorlock.NoExpiry, refused(t, err).TTL)
	require.ErrorContains(t, err, "no expiry")
	require.EqualValues(t, -1, x.client.PTTL(t.Context(), "k").Val(), "it was neither broken nor given one")
	require.Equal(t, "17", x.client.Get(t.Context(), "k").Val())
	info, err := m.Inspect(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, actorlock.NoExpiry, info.TTL)

	w := start(m, "k", nothing, retryForever, actorlock.RetryDelay(20*time.Millisecond))
	queued(t, m, "k", 1)
	require.True(t, x.unlock(t))
	require.NoError(t, w.wait(), "it is waited for")
}

// contract 7.1
// Both kinds of lock side by side, each with its turns.
func TestMutexAndWithLockExcludeEachOther(t *testing.T) {
	srv, m, x := withMutex(t)
	counter, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			for !x.lock(t, time.Minute) {
				<-time.After(time.Millisecond)
			}
			counter++
			if !x.unlock(t) {
				t.Error("the mutex lost its lock")
			}
		}
	}()
	other := redisManager(t, srv)
	for range 25 {
		for _, m := range []*actorlock.Manager{m, other} {
			require.NoError(t, m.WithLock(t.Context(), "k", func(context.Context) error {
				counter++
				return nil
			}, retryForever, actorlock.RetryDelay(2*time.Millisecond)))
		}
	}
	<-done
	require.Equal(t, 100, counter)
}
