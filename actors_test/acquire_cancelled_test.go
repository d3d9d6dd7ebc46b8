package actors_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease/memstore"
)

// A call that ends on its way to the owner of its key leaves none behind, be it
// a new one or one that had another key before, and a shutdown does not wait
// for it.
//
// contract 2.7, 4.5, 8.1
func TestCallsCancelledOnTheirWay(t *testing.T) {
	for name, reused := range map[string]bool{"new owner": false, "reused owner": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				store := newSpy(memstore.New())
				m := newManager(t, store)
				if reused {
					require.NoError(t, m.WithLock(t.Context(), "another", nothing))
					pass(time.Second) // its owner is idle
				}
				cancelled := func(key string) {
					a := &lockowner.Acquire{Key: key, Ask: lockowner.Ask{TTL: time.Second, Attempts: 1}, Reply: make(chan any, 2)}
					a.Cancel()
					m.System().Root.Send(m.Registry(), a)
					require.IsType(t, &lockowner.Refused{}, <-a.Reply)
				}
				sent, before := store.commands(), actors(m)
				cancelled("k")
				pass(time.Second)
				for i := range 200 { // the owner of the first is free for the next
					cancelled(strconv.Itoa(i))
					pass(time.Second)
				}
				require.Equal(t, sent, store.commands())
				require.LessOrEqual(t, actors(m), before+2)

				cancelled("k")
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, m.Shutdown(ctx))
				require.LessOrEqual(t, time.Since(begin), about)
			})
		})
	}
}
