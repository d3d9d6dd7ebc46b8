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
	TTL        time.Duration // whole milliseconds, at least one
	Attempts   int           // after the first one; Forever
	Delay      time.Duration // between attempts
	Wait       time.Duration // bound of the wait; 0: none
	Policy     lease.Policy
	MaxHold    time.Duration // bound of the hold; 0: none
	MaxWaiters int           // a call that finds so many is refused; 0: no bound
	HandOver   bool
	Fencing    bool
}

// Acquire: caller -> registry -> lock owner. Get the lock for Key. The answer,
// exactly one, is *Granted or *Refused; after *Granted follows exactly one
// *Released or *Lost. Answers go to Reply, which needs room for two, or to the
// sender when Reply is nil; an actor that holds a lock by message loses it when
// it stops. A message is sent once and not changed afterwards.
//
// With a Grantee, that is told of the grant instead of getting *Granted, but for
// a shared one.
type Acquire struct {
	tree.Quiet
	Key     string // the caller's, without prefix
	Ask     Ask
	Lineage *Lineage // of the context on whose behalf the call is made; may be nil
	Reply   chan any
	Grantee Grantee

	claim     atomic.Int32 // who decides what becomes of the call
	cancelled atomic.Bool
	answered  bool // refused, or granted
	host      tree.Host
	waiter    waiter // the owner's own
	hold      Hold   // once it is granted
}

// Direct implements tree.Direct.
func (m *Acquire) Direct() bool { return m != nil && m.host.Lent() }

// Lend offers the goroutine that sends m to those who handle it. It holds no
// locks, and calls Serve when it has sent m.
func (m *Acquire) Lend() { m.host.Lend() }

// Serve runs the command that sending m has led to, if there is one. It is the
// hold if that command has got the lock for m's caller, whose Grantee is then
// not told.
func (m *Acquire) Serve() *Hold {
	j := m.host.Take()
	if j == nil {
		return nil
	}
	t, ok := j.Task().(*tried)
	if !ok || t.caller != &m.waiter {
		j.Run()
		return nil
	}
	t.here = true
	j.Run()
	return t.hold
}

// Cancel is the message that ends the wait, whether or not m has been sent yet.
func (m *Acquire) Cancel() *Cancel {
	m.cancelled.Store(true)
	return &Cancel{Acquire: m}
}

// Unused is the error of a call that got the lock when it could not use it any
// more. It knows of the one attempt that got it.
func (m *Acquire) Unused(err error) *lease.AcquireError {
	return &lease.AcquireError{Key: m.Key, Attempts: 1, Waited: time.Since(m.waiter.budget.start), Err: err}
}

// Grantee is a caller who can start on a hold at once, in whatever goroutine it
// was got: the grant does not wait for the owner's turn. Granted is called once
// at most, and must not block.
type Grantee interface{ Granted(h *Hold) }

// What has become of a call with a grantee.
const (
	unclaimed = iota
	taken     // by the goroutine that got the lease
	answered  // by the owner
)

// decide reports whether the owner may still answer the call.
func (m *Acquire) decide() bool {
	return m.Grantee == nil || m.claim.Load() == answered || m.claim.CompareAndSwap(unclaimed, answered)
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
}

// Direct implements tree.Direct.
func (m *Release) Direct() bool { return m != nil && m.Hold.host().Lent() }

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
// the store's error, ErrShutdown, or ErrNoReply when no attempt had ended.
type Refused struct {
	tree.Quiet
	Err *lease.AcquireError
}

// Released: lock owner -> holder. The hold has ended.
type Released struct {
	tree.Quiet
	Hold   *Hold
	Passed bool // the lease went to the next caller at once, after a short hold
}

// Lost: lock owner -> holder. The hold has ended without being released.
type Lost struct {
	tree.Quiet
	Hold *Hold
	Err  *lease.LockLostError
}

// Probe: registry -> lock owner. Say once, with *Idle, that there is nothing to
// do: now, or as soon as that is so.
type Probe struct{ tree.Quiet }

// Idle: lock owner -> registry, after a Probe. Nothing is left to do for Key. The
// owner may be retired or given another key if Seen messages is all that it was
// sent.
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

// Direct implements tree.Direct.
func (*tick) Direct() bool { return true }

// woken: a store's hint -> lock owner.
type woken struct {
	tree.Quiet
	pending *atomic.Bool // of the watch that it came from
	foreign bool         // from another node's release
}
