package actors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// Two keys taken in opposite order: a deadline on the inner wait gets both
// sides out, and both keys are free.
//
// contract 2.7
func TestCase_B079(t *testing.T) {
	for name, apart := range map[string]bool{"two managers": true, "one manager": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				store := &recorder{Store: memstore.New()}
				one := newManager(t, store, retryForever)
				two := one
				if apart {
					two = newManager(t, store, retryForever)
				}
				ready := make(chan struct{}, 2)
				both := make(chan struct{})
				nest := func(m *actorlock.Manager, outer, inner string) *call {
					return start(m, outer, func(ctx context.Context) error {
						ready <- struct{}{}
						<-both
						ctx, cancel := context.WithTimeout(ctx, time.Second)
						defer cancel()
						return m.WithLock(ctx, inner, nothing)
					})
				}
				first, second := nest(one, "a", "b"), nest(two, "b", "a")
				<-ready
				<-ready
				close(both)
				begin := time.Now()
				failed, held := 0, 0
				for _, c := range []*call{first, second} {
					if err := c.wait(); err != nil {
						require.ErrorIs(t, err, context.DeadlineExceeded)
						failed++
						if errors.Is(err, actorlock.ErrHeld) {
							held++
						}
					}
				}
				// Both deadlines come at the same moment: one may find its key free
				// when it is too late.
				require.NotZero(t, failed)
				require.NotZero(t, held)
				require.LessOrEqual(t, time.Since(begin), time.Second+about)
				synctest.Wait() // what was given up is released behind the caller
				for _, key := range []string{"a", "b"} {
					require.False(t, peek(t, store, key).Held)
				}
				renewals := len(store.seen().extends)
				pass(time.Minute)
				require.Len(t, store.seen().extends, renewals, "nothing is renewed any more")
			})
		})
	}
}
