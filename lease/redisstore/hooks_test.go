package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
)

// A command that waits for a connection when its context ends is not sent.
func TestPoolUsedUp(t *testing.T) {
	server := redistest.Start(t)
	c := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 1, MaxActiveConns: 1, PipelinePoolSize: -1})
	defer c.Close()
	s := New(c)
	busy := c.Conn()
	require.NoError(t, busy.Ping(t.Context()).Err())
	_, err := s.Acquire(brief(t, 50*time.Millisecond), lease.Acquisition{
		Key: "key", Value: "a/1", TTL: long,
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	eventually(t, func() bool { return s.main.abandoned.Load() == 0 }, "it does not wait on")
	require.NoError(t, busy.Close())
	require.True(t, try(t, s, "key", "b/1").Acquired)
}

// hook panics, or answers without sending, instead of passing commands on.
type hook struct{ broken *atomic.Int32 }

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		_ = cmd.String() // as hooks that log do
		switch h.broken.Load() {
		case 1:
			panic("hook")
		case 2:
			return fmt.Errorf("not now")
		case 3:
			return nil
		}
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		switch h.broken.Load() {
		case 1:
			panic("hook")
		case 2:
			return fmt.Errorf("not now")
		case 3:
			return nil
		}
		return next(ctx, cmds)
	}
}

func TestHooks(t *testing.T) {
	server := redistest.Start(t)
	var l log
	var broken atomic.Int32
	c := client(t, server.Addr())
	c.AddHook(hook{&broken})
	s := New(c, l.option())
	value, _ := take(t, s, "key")
	batch := []lease.Extension{{Key: "key", Value: value, TTL: long}, {Key: "key", Value: value, TTL: long}}
	for mode, want := range map[int32]lease.Kind{1: lease.Unknown, 2: lease.Unknown, 3: lease.Unknown} {
		broken.Store(mode)
		_, err := s.Acquire(brief(t, long), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
		require.Equal(t, want, kindOf(t, err), "%v", err)
		var reports int
		s.Extend(brief(t, long), batch, func(_ int, err error) {
			reports++
			require.Equal(t, want, kindOf(t, err), "%v", err)
		})
		require.Equal(t, 2, reports)
	}
	require.Equal(t, 2, l.count("the Redis client panicked"))
	broken.Store(0)
	require.NoError(t, extend(t.Context(), s, batch[0]))
}
