package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// The callback panics while others wait, on its own node and on another one.
func TestCase_B024(t *testing.T) {
	for _, reason := range []any{"a text", errMine, &struct{ n int }{7}} {
		for _, elsewhere := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				a := newManager(t, mem, retryForever)
				in := make(chan struct{})
				caught := make(chan any, 1)
				var panicked time.Time
				go func() {
					defer func() { caught <- recover() }()
					_ = a.WithLock(t.Context(), "k", func(context.Context) error {
						close(in)
						time.Sleep(time.Minute)
						panicked = time.Now()
						panic(reason)
					})
				}()
				<-in
				next := a
				if elsewhere {
					next = newManager(t, mem, retryForever)
				}
				second := queueUp(t, t.Context(), next, "k")
				e, ok := (<-caught).(*actorlock.PanicError)
				require.True(t, ok)
				require.Equal(t, reason, e.Value)
				second.granted()
				require.LessOrEqual(t, time.Since(panicked), about)
				second.release()
				require.Zero(t, mem.Len())
			})
		}
	}
}

// The holder's process is killed.
func TestCase_B026(t *testing.T) {
	t.Parallel()
	entersAfterKill(t, 200*time.Millisecond)
}

// entersAfterKill has a process killed while it holds a lock, which a waiter
// elsewhere gets when the TTL is over, or at its next poll.
func entersAfterKill(t *testing.T, delay time.Duration) {
	t.Helper()
	const ttl = 1500 * time.Millisecond
	srv := redisServer(t)
	dead := spawn(t, "hold", srv.Addr(), "k", ttl.String())
	dead.hear("held")
	m := redisManager(t, srv, actorlock.RetryDelay(delay))
	next := queueUp(t, t.Context(), m, "k", retryForever)
	queued(t, m, "k", 1)
	dead.kill()
	killed := time.Now()
	next.granted()
	const slow = 4 * time.Second // what a busy machine may add
	require.Less(t, time.Since(killed), ttl+min(delay, time.Second)+slow)
	next.release()
}

// A key without an expiry stands in the way.
func TestCase_B028(t *testing.T) {
	t.Run("virtual time", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			mem := memstore.New()
			foreign(mem, "k", 0)
			store := newSpy(mem)
			m := newManager(t, store)
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			err := m.WithLock(ctx, "k", never(t), retryForever)
			require.Equal(t, 2*time.Second, time.Since(begin))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.LessOrEqual(t, store.commands(), 15, "it does not spin")
			require.ErrorIs(t, err, actorlock.ErrHeld)
		})
	})
	t.Run("Redis", func(t *testing.T) {
		srv := redisServer(t)
		look := srv.Client(t)
		require.NoError(t, look.Set(t.Context(), "k", "from/long ago", 0).Err())
		m := redisManager(t, srv)
		srv.ResetCalls(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := m.WithLock(ctx, "k", never(t), retryForever)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, actorlock.ErrHeld)
		e := refused(t, err)
		require.Equal(t, actorlock.NoExpiry, e.TTL)
		require.Equal(t, "from", e.Holder)
		require.ErrorContains(t, err, "held")
		require.ErrorContains(t, err, "no expiry and must be deleted by hand")
		require.Less(t, srv.Commands(t), 100, "it does not spin")
		require.Equal(t, "from/long ago", look.Get(t.Context(), "k").Val(), "and breaks nothing")
		require.NoError(t, look.Del(t.Context(), "k").Err())
		require.NoError(t, m.WithLock(t.Context(), "k", nothing))
	})
}

// Many poll for the key of a holder that was killed.
func TestCase_B030(t *testing.T) {
	t.Parallel()
	const ttl = 5 * time.Second
	srv := redisServer(t)
	look := srv.Client(t)
	dead := spawn(t, "hold", srv.Addr(), "k", ttl.String())
	dead.hear("held")
	var all []*running
	for range 4 {
		m := redisManager(t, srv, retryForever, actorlock.RetryDelay(20*time.Millisecond))
		for range 5 {
			h := queueUp(t, t.Context(), m, "k")
			h.settle(0, nil)
			all = append(all, h)
		}
		queued(t, m, "k", 5)
	}
	dead.kill()
	value := look.Get(t.Context(), "k").Val()
	require.NotEmpty(t, value)
	last, samples := ttl, 0
	for {
		var now *redis.StringCmd
		var left *redis.DurationCmd
		_, err := look.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
			now, left = p.Get(t.Context(), "k"), p.PTTL(t.Context(), "k")
			return nil
		})
		if err == redis.Nil || now.Val() != value {
			break
		}
		require.NoError(t, err)
		require.LessOrEqual(t, left.Val(), last, "it only falls")
		last = left.Val()
		samples++
		<-time.After(2 * time.Millisecond)
	}
	require.Greater(t, samples, 20)
	for _, h := range all {
		_, err := h.outcome()
		require.NoError(t, err)
	}
}
