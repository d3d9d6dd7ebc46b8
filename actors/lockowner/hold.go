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
	call   *Acquire
	tenure *tenure // which others have in turn
	token  uint64

	release Release               // the message that ends it
	ended   atomic.Pointer[error] // why the hold ended; nil while it lasts
	mu      sync.Mutex            // orders what happens to ctx, and the end
	ctx     *holdContext          // nil before Bind
}

// Lease is a snapshot of the lease that is held.
func (h *Hold) Lease() lease.Lease {
	l := lease.Lease{Key: h.call.Key, Node: h.tenure.cfg.Node, Token: h.token}
	return l.WithDeadline(h.tenure.term.Deadline())
}

// Owner is the actor that Release goes to.
func (h *Hold) Owner() *actor.PID { return h.tenure.owner }

// Release is the message that releases the hold, to be sent to its Owner once. It
// comes after Bind, if that is called at all.
func (h *Hold) Release() *Release {
	if h.ctx != nil {
		h.ctx.settle()
	}
	h.release.Hold = h
	return &h.release
}

// host is the goroutine of whoever sends Release. It was that of whoever sent
// Acquire, until the grant.
func (h *Hold) host() *tree.Host {
	if h == nil || h.call == nil {
		return nil
	}
	return &h.call.host
}

// Lend offers the goroutine that sends Release to those who handle it. It holds
// no locks, and calls Serve when it has sent that.
func (h *Hold) Lend() { h.host().Lend() }

// Serve runs the command that the release has led to, if there is one.
func (h *Hold) Serve() {
	if j := h.host().Take(); j != nil {
		j.Run()
	}
}

// Value is the lease in the store: the key with its prefix, and its value.
func (h *Hold) Value() (key, value string) { return h.tenure.cfg.Prefix + h.call.Key, h.tenure.value }

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
	return &lease.LockLostError{Key: h.call.Key, Err: err}
}

// end ends the hold, once, and its context with it.
func (h *Hold) end(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.Load() != nil {
		return
	}
	if h.ctx != nil {
		h.ctx.end(cause)
	}
	// Last: who sees it sees a cancelled context.
	if cause == lease.ErrReleased {
		h.ended.Store(&lease.ErrReleased)
		return
	}
	loss := cause // so that a release allocates nothing
	h.ended.Store(&loss)
}

// Bind makes the context of the hold: parent's values and end, cancelled when
// the hold ends, with the lease and the lineage as values. It is called once,
// and the hold's end frees what it takes.
func (h *Hold) Bind(parent context.Context) context.Context {
	c := &holdContext{parent: parent, line: Lineage{hold: h, outer: LineageOf(parent)}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx = c
	if cause := h.ended.Load(); cause != nil {
		c.end(*cause)
	}
	return c
}

// Context ends with the hold, and is that of Bind without the lineage. It is nil
// before Bind.
func (h *Hold) Context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil {
		return nil
	}
	return h.ctx.look()
}

// Discard deletes what may be left of a lost lease, once its callback has
// settled. After a shutdown that is the supervisor's business.
func (h *Hold) Discard() {
	if p := h.ended.Load(); p != nil && !errors.Is(*p, lease.ErrShutdown) {
		key, value := h.Value()
		discard(h.tenure.cfg, key, value)
	}
}
