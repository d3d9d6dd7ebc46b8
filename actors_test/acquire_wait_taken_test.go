package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// A wait that ends in the moment between the grant, in the caller's own
// goroutine, and the owner's notice of it: the owner must not turn in circles
// over a call that it can no longer refuse.
func TestWaitThatEndsWhileTheLockIsGranted(t *testing.T) {
	m := newManager(t, memstore.New())
	ctx, cancel := context.WithTimeout(t.Context(), plenty)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20_000 {
			_ = m.WithLock(ctx, "key", func(context.Context) error { return nil },
				actorlock.Wait(time.Duration(1+i%50)*time.Microsecond))
		}
	}()
	select {
	case <-done:
	case <-time.After(plenty):
		require.FailNow(t, "a call does not return")
	}
}
