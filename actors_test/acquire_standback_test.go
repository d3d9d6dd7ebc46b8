package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 1.2, 2.8: a wait that ends while the node stands back for others
// ends with ErrHeld; the store was never without an answer.
func TestWaitEndsWhileStandingBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		first, second := newManager(t, mem), newManager(t, mem)
		hold := func(d time.Duration) func(context.Context) error {
			return func(context.Context) error { time.Sleep(d); return nil }
		}
		errs := make(chan error, 3)
		go func() { errs <- first.WithLock(t.Context(), "k", hold(60*time.Millisecond)) }()
		synctest.Wait()
		go func() { errs <- second.WithLock(t.Context(), "k", hold(time.Second)) }()
		synctest.Wait()
		err := first.WithLock(t.Context(), "k", hold(0), actorlock.Wait(62*time.Millisecond))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		require.NoError(t, <-errs)
		require.NoError(t, <-errs)
	})
}
