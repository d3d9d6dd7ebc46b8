package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 8.2: a call that was cancelled on its way is all that the owner of its
// key ever got to see. A Shutdown does not wait for such a key.
func TestCancelledOnItsWay(t *testing.T) {
	for name, before := range map[string][]string{"a new owner": nil, "an owner that had a key": {"before"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				m, err := actorlock.New(actorlock.Config{Store: mem})
				require.NoError(t, err)
				for _, key := range before {
					require.NoError(t, m.WithLock(t.Context(), key, func(context.Context) error { return nil }))
					time.Sleep(time.Minute) // its owner is free
				}
				a := &lockowner.Acquire{Key: "k", Ask: lockowner.Ask{TTL: time.Minute}, Reply: make(chan any, 2)}
				a.Cancel()
				m.System().Root.Send(m.Registry(), a)
				require.IsType(t, &lockowner.Refused{}, answer(a))

				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, m.Shutdown(ctx))
				require.Zero(t, time.Since(begin))
			})
		})
	}
}
