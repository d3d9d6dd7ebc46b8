package renewer

import (
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/actors/internal/agenda"
	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// Renewal is one lease to keep alive. Its exported fields do not change once it
// is tracked; another TTL or policy for the same lease is another Renewal.
type Renewal struct {
	Key    string // as the store knows it
	Value  string
	TTL    time.Duration
	Policy lease.Policy
	Term   *lease.Term // moved by the renewer, read by anybody
	Owner  *actor.PID  // is told of the loss

	halted    atomic.Bool
	unsettled atomic.Int32 // extensions in flight, or of unknown outcome

	// The rest belongs to the renewer's own goroutine.
	agenda.Slot           // for when it needs something
	flying      int32     // extensions in batches that have not ended
	failures    int32     // in a row
	sent        time.Time // the last extension
}

// Halt keeps further extensions from being sent, at once and for good. It
// reports whether none is on its way: one that is, or whose outcome was never
// known, may still set the lease's TTL in the store.
func (r *Renewal) Halt() (quiet bool) {
	r.halted.Store(true)
	return r.unsettled.Load() == 0
}

// Halted says whether Halt was called.
func (r *Renewal) Halted() bool { return r.halted.Load() }

// begin announces an extension. It is announced before halted is looked at, as
// Halt does it the other way round: one of the two sees the other.
func (r *Renewal) begin() bool {
	r.unsettled.Add(1)
	if r.halted.Load() || r.Term.Over() {
		r.unsettled.Add(-1)
		return false
	}
	return true
}

// settle notes the outcome of an extension that had begun.
func (r *Renewal) settle(err error) {
	if err == nil || lease.IsLoss(err) {
		r.unsettled.Add(-1)
	}
}

// Track: lock owner -> renewer. Extend this lease from now on. No reply.
type Track struct {
	tree.Quiet
	*Renewal
}

// Untrack: lock owner -> renewer. Leave this lease alone. No reply; an
// extension that is already on its way is not called back.
type Untrack struct {
	tree.Quiet
	*Renewal
}

// Lost: renewer -> lock owner. The lease is lost, and no longer tracked. Err is
// the store's verdict or error, or lease.ErrLeaseExpired.
type Lost struct {
	tree.Quiet
	*Renewal
	Err error
}

// failed: an extension's goroutine -> renewer, as soon as it is known.
type failed struct {
	tree.Quiet
	*Renewal
	err error
}

// extended: an extension's goroutine -> renewer, when a batch has ended.
type extended struct {
	tree.Quiet
	batch []*Renewal
}

// tick: timer -> renewer.
type tick struct{ tree.Quiet }
