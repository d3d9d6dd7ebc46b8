package leasetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// importAll is the code under test: a worker that must stop when its lock is
// lost.
func importAll(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
			// … import the next row
		}
	}
}

// How a program behaves when its lock is lost: the server is gone while the
// callback runs. AwaitCallback has the call return what the callback did.
func ExampleFaulty() {
	store := leasetest.NewFaulty(memstore.New())
	manager, err := actorlock.New(actorlock.Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	defer manager.Shutdown(context.Background())

	err = manager.WithLock(context.Background(), "nightly:import", func(ctx context.Context) error {
		store.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Err: io.EOF}))
		return importAll(ctx)
	}, actorlock.TTL(2*time.Second), actorlock.AwaitCallback())

	var lost *actorlock.LockLostError
	fmt.Println("lost:", errors.As(err, &lost))
	fmt.Println("because of:", lost.Err)
	fmt.Println("the import stopped:", lost.Callback != nil)
	// Output:
	// lost: true
	// because of: extend: EOF
	// the import stopped: true
}

// A key that an administrator deletes, or another program overwrites: that is
// the doing of the store beneath, and shows at the next extension.
func ExampleFaulty_stolen() {
	mem := memstore.New()
	manager, err := actorlock.New(actorlock.Config{Store: mem, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	defer manager.Shutdown(context.Background())

	err = manager.WithLock(context.Background(), "nightly:import", func(ctx context.Context) error {
		mem.Steal("nightly:import", "somebody/else", time.Minute)
		return importAll(ctx)
	}, actorlock.TTL(2*time.Second))
	fmt.Println(errors.Is(err, actorlock.ErrLeaseTaken))
	// Output: true
}

// A server that cannot be reached: commands hang until the client gives up on
// them. The lock is lost when its deadline passes, whatever the policy.
func ExampleFault_hang() {
	store := leasetest.NewFaulty(memstore.New())
	manager, err := actorlock.New(actorlock.Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	defer manager.Shutdown(context.Background())

	err = manager.WithLock(context.Background(), "nightly:import", func(ctx context.Context) error {
		store.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{
			Hang: true, Limit: 50 * time.Millisecond,
		}))
		return importAll(ctx)
	}, actorlock.TTL(200*time.Millisecond), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	fmt.Println(errors.Is(err, actorlock.ErrLeaseExpired))
	// Output: true
}
