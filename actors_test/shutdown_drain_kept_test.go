package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 8.3: a call that waits on behalf of a lease is exempt for as long as
// that lives: nothing starts once Drain has returned.
func TestDrainAndACallThatOutlivesItsLease(t *testing.T) {
	forms := map[string]func(context.Context, *actorlock.Manager) error{
		"WithLock": func(ctx context.Context, m *actorlock.Manager) error {
			return m.WithLock(ctx, "b", never(t))
		},
		"Acquire": func(ctx context.Context, m *actorlock.Manager) error {
			_, err := m.Acquire(ctx, "b")
			return err
		},
	}
	for name, wait := range forms {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				m := newManager(t, mem, retryForever)
				foreign(mem, "b", lease.NoExpiry)
				a := holding(t, t.Context(), m, "a")
				kept, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
				out := make(chan error, 1)
				go func() { out <- wait(kept, m) }()
				queued(t, m, "b", 1)
				drained := make(chan error, 1)
				go func() { drained <- m.Drain(t.Context()) }()
				pass(time.Second)
				a.release()
				require.NoError(t, <-drained)
				mem.Delete("b")
				pass(time.Second)
				require.Empty(t, out, "it waits for its ctx")
				require.Zero(t, mem.Len())
				cancel()
				err := <-out
				require.ErrorIs(t, err, actorlock.ErrShutdown)
				require.ErrorIs(t, err, context.Canceled)
			})
		})
	}
}
