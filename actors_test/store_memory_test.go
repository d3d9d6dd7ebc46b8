package actors_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 9.1
func TestManagersShareAMemoryStore(t *testing.T) {
	store := memstore.New()
	a, b := newManager(t, store), newManager(t, store)
	alone, other := newManager(t, nil), newManager(t, nil)
	once := actorlock.RetryAttempts(0)
	require.NoError(t, a.WithLock(t.Context(), "k", func(ctx context.Context) error {
		require.ErrorIs(t, b.WithLock(ctx, "k", never(t), once), actorlock.ErrHeld, "a cluster in a process")
		return alone.WithLock(ctx, "k", func(ctx context.Context) error {
			return other.WithLock(ctx, "k", nothing, once)
		}, once)
	}))
	require.NoError(t, b.WithLock(t.Context(), "k", nothing, once))
	require.Zero(t, store.Len())
}

// contract 9.1
func TestStoresSayWhatTheyCanDo(t *testing.T) {
	all := lease.Traits{Expiry: true, Fencing: true, WakeUps: true}
	require.Equal(t, all, memstore.New().Traits())
	srv := redisServer(t)
	require.Equal(t, all, redisStore(t, userClient(t, srv.Addr())).Traits())
}
