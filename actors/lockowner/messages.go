package lockowner

import (
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// Forever as Ask.Attempts sets no limit.
const Forever = -1

// Ask is how a caller wants to wait for a lock and to hold it.
type Ask struct {
	TTL      time.Duration // whole milliseconds, at least one
	Attempts int           // after the first one; Forever
	Delay    time.Duration // between attempts
	Wait     time.Duration // bound of the wait; 0: none
	Policy   lease.Policy
	HandOver bool
	Fencing  bool
}

// Acquire: caller -> registry -> lock owner. Get the lock for Key. The answer,
// exactly one, is *Granted or *Refused; after *Granted follows exactly one
// *Released or *Lost. Answers go to Reply, which needs room for two, or to the
// sender when Reply is nil; an actor that holds a lock by message loses it when
// it stops. A message is sent once and not changed afterwards.
//
// With Lend, which needs room for three, a goroutine of the caller's receives
// from it at once until the call is over, and does what it gets: *Granted comes
// there instead, and *Errand, commands that the owner would have had to find
// another goroutine for.
type Acquire struct {
	tree.Quiet
	Key     string // the caller's, without prefix
	Ask     Ask
	Lineage *Lineage // of the context on whose behalf the call is made; may be nil
	Reply   chan any
	Lend    chan any

	waiter waiter // the owner's own
}

// Cancel: caller -> registry -> lock owner. Give up waiting. When the answer to
// Acquire is still open it comes now, as *Refused; otherwise nothing happens.
type Cancel struct {
	tree.Quiet
	Acquire *Acquire
}

// Release: holder -> lock owner, directly. The callback has settled. The answer
// goes where *Granted went: *Released, or *Lost when the store says so.
type Release struct {
	tree.Quiet
	Hold *Hold
	Lent bool // the goroutine behind Acquire.Lend still does errands
}

// Errand: lock owner -> a lent goroutine. Call Do; what comes of it goes to the
// owner.
type Errand struct {
	tree.Quiet
	Do func()
}

// Inspect: facade -> registry -> lock owner. The answer is a *Inspected on
// Reply, which needs room for one.
type Inspect struct {
	tree.Quiet
	Key   string
	Reply chan *Inspected
}

// Inspected answers Inspect: what this node knows of the key.
type Inspected struct {
	Waiters int
	Token   uint64 // of this node's hold, 0 when there is none
}

// Drain: registry -> lock owner. Refuse whoever waits and is not exempt.
type Drain struct{ tree.Quiet }

// Close: registry -> lock owner. Refuse all, end the hold, and surrender.
type Close struct{ tree.Quiet }

// Granted: lock owner -> caller. The lock is yours.
type Granted struct {
	tree.Quiet
	Hold *Hold
	// Shared: the caller's lineage holds the lock already; releasing this grant
	// ends nothing and is not needed.
	Shared bool
}

// Refused: lock owner -> caller. The lock was not acquired. Err.Err is ErrHeld,
// the store's error or ErrShutdown; nil after a Cancel before any attempt ended.
type Refused struct {
	tree.Quiet
	Err *lease.AcquireError
}

// Released: lock owner -> holder. The hold has ended.
type Released struct {
	tree.Quiet
	Hold *Hold
}

// Lost: lock owner -> holder. The hold has ended without being released.
type Lost struct {
	tree.Quiet
	Hold *Hold
	Err  *lease.LockLostError
}

// Idle: lock owner -> registry. Nothing is left to do for Key. The owner may be
// retired or given another key if Seen messages is all that it was sent.
type Idle struct {
	tree.Quiet
	Owner *actor.PID
	Key   string
	Seen  int
}

// Surrendered: lock owner -> registry, in answer to Close, when no command of
// its own is in flight any more. Value is what may still stand in the store,
// empty when nothing does.
type Surrendered struct {
	tree.Quiet
	Owner    *actor.PID
	Key      string // the caller's
	StoreKey string
	Value    string
}

// tick: timer -> lock owner.
type tick struct{ tree.Quiet }

// woken: a store's hint -> lock owner.
type woken struct {
	tree.Quiet
	pending *atomic.Bool // of the watch that it came from
	foreign bool         // from another node's release
}

// tried: an acquire's goroutine -> lock owner.
type tried struct {
	tree.Quiet
	flight  int
	sent    time.Time
	asked   lease.Acquisition
	attempt lease.Attempt
	err     error
}

// checked: a hand-over's goroutine -> lock owner.
type checked struct {
	tree.Quiet
	flight    int
	errand    errand
	sent      time.Time
	first     uint64
	contended bool
	err       error
}

// released: a release's goroutine -> lock owner.
type released struct {
	tree.Quiet
	flight int
	err    error
}
