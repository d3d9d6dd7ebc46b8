package actors_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// A user's own test may end right after Shutdown, in virtual time too, where
// not even a goroutine that would end by itself in a moment may be left.
func TestShutdownLeavesNothingBehindInABubble(t *testing.T) {
	ends := map[string]func(t *testing.T, m *actorlock.Manager, store *leasetest.Faulty, mem *memstore.Store){
		"unused": func(*testing.T, *actorlock.Manager, *leasetest.Faulty, *memstore.Store) {},
		"released": func(t *testing.T, m *actorlock.Manager, _ *leasetest.Faulty, _ *memstore.Store) {
			for i := range 5 {
				require.NoError(t, m.WithLock(t.Context(), fmt.Sprint(i), nothing))
			}
		},
		"spare": func(t *testing.T, m *actorlock.Manager, _ *leasetest.Faulty, _ *memstore.Store) {
			require.NoError(t, m.WithLock(t.Context(), "job", nothing))
			pass(time.Minute) // its owner is idle by now
		},
		"held": func(t *testing.T, m *actorlock.Manager, _ *leasetest.Faulty, _ *memstore.Store) {
			_, err := m.Acquire(t.Context(), "job")
			require.NoError(t, err)
		},
		"failed": func(t *testing.T, m *actorlock.Manager, store *leasetest.Faulty, _ *memstore.Store) {
			store.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true}))
			err := m.WithLock(t.Context(), "job", func(ctx context.Context) error { <-ctx.Done(); return nil })
			require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
		},
		"stolen": func(t *testing.T, m *actorlock.Manager, _ *leasetest.Faulty, mem *memstore.Store) {
			err := m.WithLock(t.Context(), "job", func(ctx context.Context) error {
				mem.Steal("job", "other/1", time.Minute)
				<-ctx.Done()
				return nil
			})
			require.ErrorIs(t, err, actorlock.ErrLeaseTaken)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				synctest.Test(t, func(t *testing.T) {
					mem := memstore.New()
					store := leasetest.NewFaulty(mem)
					m, err := actorlock.New(actorlock.Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
					require.NoError(t, err)
					end(t, m, store, mem)
					require.NoError(t, m.Shutdown(t.Context()))
				})
			}
		})
	}
}
