package actorlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// The lock in its shortest form. With no Store it is kept in memory.
func Example() {
	ctx := context.Background()
	manager, err := actorlock.New(actorlock.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Shutdown(ctx)

	rows, err := actorlock.WithLock(ctx, manager, "report:rebuild",
		func(ctx context.Context) (int, error) {
			return rebuild(ctx) // ctx ends when the lock is lost
		})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("rows:", rows)
	// Output: rows: 42
}

// What is often written today, for comparison. It is compiled, not run.
func Example_byHand() {
	rebuildByHand := func(ctx context.Context, client *redis.Client) error {
		ok, err := client.SetNX(ctx, "report:rebuild", "locked", 30*time.Second).Result()
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("somebody else is at it")
		}
		defer client.Del(ctx, "report:rebuild")
		_, err = rebuild(ctx)
		return err
	}
	_ = rebuildByHand
}

// The same with this package.
func Example_atAGlance() {
	rebuildLocked := func(ctx context.Context, manager *actorlock.Manager) error {
		return manager.WithLock(ctx, "report:rebuild", func(ctx context.Context) error {
			_, err := rebuild(ctx)
			return err
		}, actorlock.RetryAttempts(0))
	}

	ctx := context.Background()
	manager := newManager(actorlock.Config{})
	defer manager.Shutdown(ctx)
	fmt.Println(rebuildLocked(ctx, manager))
	// Output: <nil>
}

// Locks in Redis with a failover. It is compiled, not run, as it needs servers.
func Example_sentinel() {
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:            "main",
		SentinelAddrs:         []string{"sentinel-1:26379", "sentinel-2:26379", "sentinel-3:26379"},
		ContextTimeoutEnabled: true,
	})
	store := redisstore.New(client, redisstore.MinReplicas(1))
	_ = store
}

// Locks in Redis. It is compiled, not run, as it needs a server.
func Example_redis() {
	store, err := redisstore.Open("redis://localhost:6379")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	manager, err := actorlock.New(actorlock.Config{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Shutdown(context.Background())
}

// Options of a manager are the defaults of its calls.
func ExampleConfig() {
	manager, err := actorlock.New(actorlock.Config{
		Node:     "worker-7",
		Prefix:   "shop:",
		Defaults: []actorlock.Option{actorlock.TTL(10 * time.Second), actorlock.RetryAttempts(3)},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Shutdown(context.Background())

	_, err = actorlock.New(actorlock.Config{Defaults: []actorlock.Option{actorlock.TTL(0)}})
	fmt.Println(errors.Is(err, actorlock.ErrInvalidConfig), err)
	// Output: true invalid configuration: TTL must be from 1 ms to 100 years
}

// RetryAttempts(0) refuses work that is being done already.
func ExampleRetryAttempts() {
	ctx := context.Background()
	store := memstore.New()
	manager, other := newManager(actorlock.Config{Store: store}), newManager(actorlock.Config{Store: store, Node: "other"})
	defer manager.Shutdown(ctx)
	defer other.Shutdown(ctx)
	lock, err := other.Acquire(ctx, "report:rebuild")
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release(ctx)

	err = manager.WithLock(ctx, "report:rebuild", func(ctx context.Context) error {
		_, err := rebuild(ctx)
		return err
	}, actorlock.RetryAttempts(0))
	var refused *actorlock.AcquireError
	var lost *actorlock.LockLostError
	switch {
	case errors.Is(err, actorlock.ErrHeld) && errors.As(err, &refused):
		fmt.Println("being rebuilt by", refused.Holder)
	case errors.As(err, &lost):
		fmt.Println("interrupted, to be done again:", lost.Err)
	case err != nil:
		log.Fatal(err)
	}
	// Output: being rebuilt by other
}

// A call that waits as long as it takes, but no longer than a minute.
func ExampleWait() {
	ctx := context.Background()
	manager := newManager(actorlock.Config{})
	defer manager.Shutdown(ctx)

	err := manager.WithLock(ctx, "nightly:import", func(ctx context.Context) error {
		return nil // may take any multiple of the TTL: the lock is extended meanwhile
	}, actorlock.RetryAttempts(actorlock.RetryForever), actorlock.Wait(time.Minute))
	fmt.Println(err)
	// Output: <nil>
}

// A lock can be lost: here somebody deletes its key.
func ExampleLockLostError() {
	ctx := context.Background()
	store := memstore.New()
	manager := newManager(actorlock.Config{Store: store})
	defer manager.Shutdown(ctx)

	err := manager.WithLock(ctx, "report:rebuild", func(ctx context.Context) error {
		store.Delete("report:rebuild")
		<-ctx.Done() // within a third of the TTL
		return context.Cause(ctx)
	}, actorlock.TTL(150*time.Millisecond))
	var lost *actorlock.LockLostError
	if errors.As(err, &lost) {
		fmt.Println(lost.Key, "was lost; its key is gone:", errors.Is(err, actorlock.ErrLeaseGone))
	}
	// Output: report:rebuild was lost; its key is gone: true
}

// A resource that remembers the highest token turns away a holder that has
// lost its lock and does not know it yet.
func ExampleLeaseFrom() {
	ctx := context.Background()
	manager := newManager(actorlock.Config{})
	defer manager.Shutdown(ctx)
	var table struct{ newest uint64 }

	write := func(token uint64) error {
		if token < table.newest {
			return errors.New("a newer holder has written already")
		}
		table.newest = token
		return nil
	}
	var first uint64
	for range 2 {
		err := manager.WithLock(ctx, "report:rebuild", func(ctx context.Context) error {
			held, _ := actorlock.LeaseFrom(ctx)
			if first == 0 {
				first = held.Token
			}
			return write(held.Token)
		})
		fmt.Println("in turn:", err)
	}
	fmt.Println("late:", write(first))
	// Output:
	// in turn: <nil>
	// in turn: <nil>
	// late: a newer holder has written already
}

// A function that takes the lock itself may be called by one that holds it.
func ExampleManager_WithLock_nested() {
	ctx := context.Background()
	manager := newManager(actorlock.Config{})
	defer manager.Shutdown(ctx)

	publish := func(ctx context.Context) error {
		return manager.WithLock(ctx, "report:rebuild", func(ctx context.Context) error {
			fmt.Println("published")
			return nil
		})
	}
	err := manager.WithLock(ctx, "report:rebuild", func(ctx context.Context) error {
		return publish(ctx) // ctx says that the lock is ours: no waiting, no traffic
	})
	fmt.Println(err)
	// Output:
	// published
	// <nil>
}

// Acquire is the manual form, for a lock that outlives a function.
func ExampleManager_Acquire() {
	ctx := context.Background()
	manager := newManager(actorlock.Config{Node: "worker-7"})
	defer manager.Shutdown(ctx)

	lock, err := manager.Acquire(ctx, "leader")
	if err != nil {
		log.Fatal(err)
	}
	lead := lock.Context() // ends when the lock is lost or released
	seen, err := manager.Inspect(ctx, "leader")
	fmt.Println(lead.Err(), seen.Held, seen.Holder, err)
	fmt.Println(lock.Release(ctx), context.Cause(lead))
	// Output:
	// <nil> true worker-7 <nil>
	// <nil> lock released
}

// How a program ends that has workers.
func ExampleManager_Shutdown() {
	manager := newManager(actorlock.Config{})
	begun := make(chan struct{})
	step := func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return context.Cause(ctx)
	}

	work, stopWork := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	workers.Go(func() {
		for work.Err() == nil {
			fmt.Println("worker:", manager.WithLock(work, "queue", step))
		}
	})
	<-begun // and, in a program, wait for a signal here

	stopWork() // waiting calls return, and callbacks see their ctx end
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	if err := manager.Drain(grace); err != nil {
		fmt.Println("some callbacks are still running:", err)
	}
	cancel()
	grace, cancel = context.WithTimeout(context.Background(), 5*time.Second)
	if err := manager.Shutdown(grace); err != nil {
		fmt.Println(err) // a *ShutdownError: keys that are left to expire
	}
	cancel()
	workers.Wait()
	// Output: worker: context canceled
}

func rebuild(context.Context) (rows int, err error) { return 42, nil }

// newManager is New for examples: those that lose a lock on purpose are not to
// log it.
func newManager(cfg actorlock.Config) *actorlock.Manager {
	cfg.Logger = slog.New(slog.DiscardHandler)
	manager, err := actorlock.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	return manager
}
