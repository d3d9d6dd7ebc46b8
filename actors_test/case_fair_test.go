package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// However long the lock is held, every waiter that is still there gets its
// turn, on the holder's node and on others.
//
// contract 2.4
// contract 2.5
func TestCase_B062(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memstore.New()
		near := newManager(t, store, retryForever)
		far := newManager(t, store, retryForever)
		h := hold(t, near, "k")
		var turns [2][]int
		var calls []*call
		for i := range 25 {
			for n, m := range []*actorlock.Manager{near, far} {
				calls = append(calls, start(m, "k", func(context.Context) error {
					turns[n] = append(turns[n], i)
					return nil
				}))
			}
			pass(time.Millisecond) // they arrive one after the other
		}
		pass(5 * time.Minute) // far beyond the TTL
		require.NoError(t, h.let())
		released := time.Now()
		for _, c := range calls {
			require.NoError(t, c.wait())
		}
		require.Less(t, time.Since(released), 5*time.Second)
		for _, order := range turns {
			require.Len(t, order, 25)
			require.IsIncreasing(t, order)
		}
	})
}

// A waiter that has given up, or has run out of time, leaves the queue: the
// next one enters at once.
//
// contract 2.5
func TestCase_B063(t *testing.T) {
	for name, opts := range map[string][]actorlock.Option{
		"cancelled": nil,
		"timed out": {actorlock.Wait(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				store := newSpy(memstore.New())
				m := newManager(t, store, retryForever)
				h := hold(t, m, "k")
				var order []string
				wait := func(name string, opts ...actorlock.Option) *call {
					c := start(m, "k", func(context.Context) error {
						order = append(order, name)
						return nil
					}, opts...)
					pass(time.Millisecond)
					return c
				}
				first, middle, last := wait("first"), wait("middle", opts...), wait("last")
				queued(t, m, "k", 3)
				if opts == nil {
					middle.cancel(nil)
				}
				require.ErrorIs(t, middle.wait(), actorlock.ErrHeld)
				queued(t, m, "k", 2)
				released := time.Now()
				require.NoError(t, h.let())
				require.NoError(t, first.wait())
				require.NoError(t, last.wait())
				require.Less(t, time.Since(released), time.Millisecond)
				require.Equal(t, []string{"first", "last"}, order)
				require.Len(t, store.attempts(), 1, "one lease for all three turns")
			})
		})
	}
}
