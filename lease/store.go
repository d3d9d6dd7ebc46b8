package lease

import (
	"context"
	"time"
)

// Store is the port to whatever carries the locks. Implementations are safe for
// concurrent use, honour ctx whatever their own time-outs are (unless it was
// made by Patiently), never trust a command to have failed because its reply is
// missing, and touch a key only after they compared its value, in the same step.
//
// Unless a method says otherwise its errors are *StoreError values, whose Kind
// tells what is known of the command.
type Store interface {
	// Traits says what this store can do. The answer never changes.
	Traits() Traits

	// Acquire makes one attempt to take a.Key. A key held by another value is
	// not an error: the Attempt describes the holder. A key that already holds
	// a.Value is ours (the reply to an earlier attempt was lost): its full TTL
	// is set again, unless more than that is left, and the attempt succeeds. So
	// an attempt that is executed late takes no time from who holds the lease.
	Acquire(ctx context.Context, a Acquisition) (Attempt, error)

	// Extend sets the remaining time of each lease in batch to its TTL, if the
	// key still holds its value, and reports a verdict on each exactly once, in
	// any order, from any goroutine, before it returns: nil for extended,
	// ErrLeaseGone or ErrLeaseTaken (errors.Is) for lost, and any other error
	// for an outcome that is not known. A key of another type is taken.
	// A TTL below 1 ms is refused with ErrInvalidConfig.
	Extend(ctx context.Context, batch []Extension, report func(i int, err error))

	// Release deletes each key in batch that still holds its value, wakes those
	// who wait for it, and reports like Extend.
	Release(ctx context.Context, batch []Release, report func(i int, err error))

	// Reserve sets aside r.Tokens fencing tokens for hand-overs of a lease that
	// is still ours, and with a TTL extends it in the same step. It returns the
	// first token of the block. Errors: as the verdicts of Extend, and
	// ErrNoTokens when something foreign stands where tokens are stored.
	Reserve(ctx context.Context, r Reservation) (first uint64, err error)

	// Contended reports whether a node other than origin has left a mark that
	// it waits for key.
	Contended(ctx context.Context, key, origin string) (bool, error)

	// Inspect looks at key without changing it.
	Inspect(ctx context.Context, key string) (State, error)

	// Watch calls wake, which must not block, when somebody may have released
	// key, with the origin of the release when it is known, and whenever hints
	// may have been missed: once the watch has become effective and after every
	// interruption. Hints can be lost, repeated and wrong. Watch itself does
	// not block; after stop has returned no new call of wake begins.
	Watch(key string, wake func(origin string)) (stop func())
}

// Traits says what a store can do.
type Traits struct {
	// Expiry: keys have a time to live and leases must be renewed.
	Expiry bool
	// Fencing: the store mints fencing tokens.
	Fencing bool
	// WakeUps: Watch tells of releases, so that polling is only a safety net.
	WakeUps bool
}

// Acquisition is one attempt to take a key.
type Acquisition struct {
	Key   string
	Value string        // the same for all attempts of one acquisition
	TTL   time.Duration // whole milliseconds, at least one
	Fence bool          // mint a fencing token

	// Origin identifies the manager in marks and wake-ups. With Mark above 0, an
	// attempt that finds the key held leaves a mark for that long, which tells
	// the holder's node that somebody else waits.
	Origin string
	Mark   time.Duration
}

// Attempt is what an attempt found.
type Attempt struct {
	Acquired bool

	// Of an acquired lease: its token (0 without fencing), and whether
	// something foreign stands where tokens are stored, so that the token comes
	// from the clock and Reserve is not possible.
	Token      uint64
	ForeignKey bool

	// Of a key that is held: the node id in its value, and its remaining time
	// to live (NoExpiry when it has none).
	Holder string
	TTL    time.Duration
}

// Extension asks for one lease to be extended to TTL.
type Extension struct {
	Key   string
	Value string
	TTL   time.Duration
}

// Release asks for one lease to be released.
type Release struct {
	Key    string
	Value  string
	Origin string // of the wake-up

	// Certain makes the verdicts "gone" and "taken" reliable: the command is
	// not sent again when its reply is lost, which is then an unknown outcome.
	Certain bool

	// Used and Reserved give back what is left of a block of tokens, when
	// Reserved is above 0: the last one handed out and the last of the block.
	Used, Reserved uint64
}

// Reservation asks for a block of fencing tokens.
type Reservation struct {
	Key    string
	Value  string
	Tokens int           // how many
	TTL    time.Duration // extend the lease to it; 0 leaves its expiry alone
}

// State is what Inspect saw.
type State struct {
	Held   bool
	Holder string        // node id in the value, empty when there is none
	TTL    time.Duration // remaining; NoExpiry when the key has no expiry
}
