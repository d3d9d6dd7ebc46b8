package actorlock_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// importAll is work that looks at its ctx.
func importAll(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Second):
		}
	}
}

// The test that the README shows.
func TestImportStopsWhenItsLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewFaulty(memstore.New())
		manager, err := actorlock.New(actorlock.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		defer manager.Shutdown(t.Context())
		time.AfterFunc(time.Minute, func() { // the server goes away
			store.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Err: io.EOF}))
		})
		err = manager.WithLock(t.Context(), "nightly:import", importAll, actorlock.AwaitCallback())
		var lost *actorlock.LockLostError
		if !errors.As(err, &lost) || lost.Callback == nil { // importAll returns ctx's error
			t.Fatal("the import has not been stopped:", err)
		}
	})
}
