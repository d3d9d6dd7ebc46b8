// Package lockers holds the ways to lock that are compared, behind one
// interface. Each is set up as its own documentation recommends, and given what
// a user has to add: a loop that waits, a keep-alive where a lock is held for
// longer than its TTL. None is tuned beyond that.
package lockers

import (
	"context"
	"time"
)

// Names of the ways to lock.
const (
	NamePlain     = "plain"
	NameRedsync   = "redsync"
	NameRedislock = "redislock"
	NameActorlock = "actorlock"
	NameUnfenced  = "actorlock unfenced"
	NameAwait     = "actorlock await"
	NameMutexMap  = "mutex map"
)

// Locker runs sections under locks. It is safe for concurrent use.
type Locker interface {
	// Do waits for key for as long as it takes, runs section while it holds it,
	// and releases it.
	Do(ctx context.Context, key string, section func(context.Context) error) error
	// Close ends it; the server stays.
	Close() error
}

// Setup is what every locker is opened with.
type Setup struct {
	Addr string        // of the Redis server
	TTL  time.Duration // of locks
	// KeepAlive is set where sections last longer than TTL. A peer then has a
	// goroutine for each lock that extends it every TTL/3; ours always extends.
	// Without it peers are spared that cost: it favours them.
	KeepAlive bool
}

// Kind is a way to lock that can be opened, more than once for several nodes.
type Kind struct {
	Name string
	Open func(Setup) (Locker, error)
}
