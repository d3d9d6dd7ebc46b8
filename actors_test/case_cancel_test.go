package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// The caller's context is cancelled inside the callback.
func TestCase_B031(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	m := redisManager(t, srv)
	for _, want := range []error{nil, errMine, context.Canceled} {
		for _, opts := range [][]actorlock.Option{nil, {actorlock.AwaitCallback()}} {
			ctx, cancel := context.WithCancel(t.Context())
			err := m.WithLock(ctx, "k", func(ctx context.Context) error {
				require.NotZero(t, look.Exists(t.Context(), "k").Val())
				cancel()
				<-ctx.Done()
				return want
			}, opts...)
			require.True(t, err == want, "%v", err)
			require.Zero(t, look.Exists(t.Context(), "k").Val(), "gone at once")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.NoError(t, m.WithLock(ctx, "k", func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}))
	require.Zero(t, look.Exists(t.Context(), "k").Val())

	ctx, cancel = context.WithCancel(t.Context())
	lock, err := m.Acquire(ctx, "k")
	require.NoError(t, err)
	cancel()
	require.NoError(t, lock.Release(ctx))
	require.Zero(t, look.Exists(t.Context(), "k").Val())
}

// The context was done before the call.
func TestCase_B033(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := newSpy(memstore.New())
		m := newManager(t, store)
		past, cancel := context.WithDeadlineCause(t.Context(), time.Now().Add(-time.Second), errMine)
		defer cancel()
		done, cancelDone := context.WithCancel(t.Context())
		cancelDone()
		for ctx, want := range map[context.Context][]error{
			past: {context.DeadlineExceeded, errMine},
			done: {context.Canceled},
		} {
			for _, opts := range [][]actorlock.Option{nil, {actorlock.RetryAttempts(0)}, {retryForever}, {actorlock.AwaitCallback()}} {
				err := m.WithLock(ctx, "k", never(t), opts...)
				_, value := actorlock.WithLock(ctx, m, "k", func(ctx context.Context) (int, error) { return 0, never(t)(ctx) }, opts...)
				lock, manual := m.Acquire(ctx, "k", opts...)
				require.Nil(t, lock)
				for _, err := range []error{err, value, manual} {
					refused(t, err)
					for _, w := range want {
						require.ErrorIs(t, err, w)
					}
				}
			}
		}
		pass(time.Minute)
		require.Zero(t, store.commands())
	})
}
