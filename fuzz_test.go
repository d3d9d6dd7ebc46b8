package actorlock_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
)

func fuzzManager(f *testing.F) *actorlock.Manager {
	m, err := actorlock.New(actorlock.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, m.Shutdown(context.Background())) })
	return m
}

// Any key but the empty one is a key.
func FuzzKey(f *testing.F) {
	for _, key := range []string{"", "k", " ", "\x00", "\r\n", "{a}b", "}", "\xff\xfe", "%s", "é\u202e", strings.Repeat("k", 1<<16)} {
		f.Add(key)
	}
	m := fuzzManager(f)
	f.Fuzz(func(t *testing.T, key string) {
		err := m.WithLock(t.Context(), key, func(ctx context.Context) error {
			l, ok := actorlock.LeaseFrom(ctx)
			require.True(t, ok)
			require.Equal(t, key, l.Key)
			// Somebody else is refused, in one line.
			err := m.WithLock(context.Background(), key, unreachable(t), actorlock.RetryAttempts(0))
			require.ErrorIs(t, err, actorlock.ErrHeld)
			require.NotContains(t, err.Error(), "\n")
			info, err := m.Inspect(ctx, key)
			require.NoError(t, err)
			require.True(t, info.Held)
			return nil
		})
		if key == "" {
			require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
			return
		}
		require.NoError(t, err)
		info, err := m.Inspect(t.Context(), key)
		require.NoError(t, err)
		require.False(t, info.Held)
	})
}

func unreachable(t *testing.T) func(context.Context) error {
	return func(context.Context) error {
		t.Error("the callback was run")
		return nil
	}
}
