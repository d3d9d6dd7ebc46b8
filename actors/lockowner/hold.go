package lockowner

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// Hold is one holder's time with a lease, from the grant until it is released
// or lost. It is safe for concurrent use.
type Hold struct {
	cfg    *Config
	key    string // the caller's
	token  uint64
	tenure *tenure // of which value and term are read
	owner  *actor.PID

	release Release               // the message that ends it
	host    tree.Host             // of whoever sends that
	ended   atomic.Pointer[error] // why the hold ended; nil while it lasts
	mu      sync.Mutex            // orders Bind and end
	ctx     context.Context       // bound, without the values
	cancel  context.CancelCauseFunc
}

// Lease is a snapshot of the lease that is held.
func (h *Hold) Lease() lease.Lease {
	l := lease.Lease{Key: h.key, Node: h.cfg.Node, Token: h.token}
	return l.WithDeadline(h.tenure.term.Deadline())
}

// Owner is the actor that Release goes to.
func (h *Hold) Owner() *actor.PID { return h.owner }

// Release is the message that releases the hold, to be sent to its Owner once.
func (h *Hold) Release() *Release {
	h.release.Hold = h
	return &h.release
}

// Lend offers the goroutine that sends Release to those who handle it. It holds
// no locks, and calls Serve when it has sent that.
func (h *Hold) Lend() { h.host.Lend() }

// Serve runs the command that the release has led to, if there is one.
func (h *Hold) Serve() {
	if j := h.host.Take(); j != nil {
		j.Run()
	}
}

// Value is the lease in the store: the key with its prefix, and its value.
func (h *Hold) Value() (key, value string) { return h.cfg.Prefix + h.key, h.tenure.value }

// Ended is nil while the hold lasts by the clock's reading now, and otherwise
// says why it ended: ErrReleased, or a *LockLostError.
func (h *Hold) Ended(now time.Time) error {
	if p := h.ended.Load(); p != nil {
		return *p
	}
	if !h.tenure.term.Expired(now) {
		return nil
	}
	// The process may have been stopped: whoever looks first sees the loss,
	// before any timer has had its turn.
	h.end(h.lost(lease.ErrLeaseExpired))
	return *h.ended.Load()
}

func (h *Hold) released() bool {
	p := h.ended.Load()
	return p != nil && *p == lease.ErrReleased
}

func (h *Hold) lost(err error) *lease.LockLostError {
	return &lease.LockLostError{Key: h.key, Err: err}
}

// end ends the hold, once, and its context with it.
func (h *Hold) end(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.Load() != nil {
		return
	}
	if h.cancel != nil {
		h.cancel(cause)
	}
	h.ended.Store(&cause) // last: who sees it sees a cancelled context
}

// Bind makes the context of the hold: parent's values and end, cancelled when
// the hold ends, with the lease and the lineage as values. It is called once,
// and the hold's end frees what it takes.
func (h *Hold) Bind(parent context.Context) context.Context {
	inner, cancel := context.WithCancelCause(parent)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx, h.cancel = inner, cancel
	if cause := h.ended.Load(); cause != nil {
		cancel(*cause)
	}
	return &holdContext{Context: inner, line: Lineage{hold: h, outer: LineageOf(parent)}}
}

// Context ends with the hold. It is nil before Bind.
func (h *Hold) Context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ctx
}

// Discard deletes what may be left of a lost lease, once its callback has
// settled. After a shutdown that is the supervisor's business.
func (h *Hold) Discard() {
	if p := h.ended.Load(); p != nil && !errors.Is(*p, lease.ErrShutdown) {
		key, value := h.Value()
		discard(h.cfg, key, value)
	}
}
