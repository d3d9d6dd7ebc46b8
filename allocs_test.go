package actorlock_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/actorlock/actorlock"
	"github.com/stretchr/testify/require"
)

// What a call allocates in all goroutines together, which says more of a change
// than times do.
func TestAllocationBudgets(t *testing.T) {
	m, err := actorlock.New(actorlock.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx := t.Context()
	pair := func(ctx context.Context, opts ...actorlock.Option) func() {
		return func() { require.NoError(t, m.WithLock(ctx, "key", nothing, opts...)) }
	}
	require.LessOrEqual(t, testing.AllocsPerRun(1000, pair(ctx)), 24.0, "a lone pair in memory")
	require.LessOrEqual(t, testing.AllocsPerRun(1000, pair(ctx, actorlock.AwaitCallback())), 24.0, "the same in place")
	require.NoError(t, m.WithLock(ctx, "key", func(ctx context.Context) error {
		require.LessOrEqual(t, testing.AllocsPerRun(1000, pair(ctx)), 3.0, "re-entry")
		return nil
	}))
	require.NoError(t, m.Shutdown(ctx))
}
