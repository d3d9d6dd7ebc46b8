package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
)

// settle looks at what the call has returned.
func (c *call) settle(err error) {
	w := c.w
	c.leave()
	w.note("%s returns: %v", c, err)
	// A refusal may tell of the loss of an outer lock, and a loss of anything.
	lost, isLost := err.(*actorlock.LockLostError)
	refused, isRefused := err.(*actorlock.AcquireError)
	switch {
	case isLost:
		c.checkLost(lost)
	case isRefused:
		c.checkRefused(refused)
	case err == nil:
		c.checkDone(c.ending == returns || c.form == manual)
	case err == errCallback:
		c.checkDone(c.ending == fails)
	default:
		w.violated("%s returned %v", c, err)
	}
	if c.started.IsZero() {
		c.checkPrompt()
	}
}

// settlePanic looks at the panic that has reached the caller.
func (c *call) settlePanic(r any) {
	c.leave()
	c.w.note("%s panics", c)
	err, ok := r.(error)
	var p *actorlock.PanicError
	// A re-entry passes the panic on as it is.
	if !ok || !errors.Is(err, errCallback) || (c.inside == nil && !errors.As(err, &p)) {
		c.w.violated("%s panicked with %v", c, r)
	}
	c.w.count.panics++
	c.checkDone(c.ending == panics)
}

// settleExit: the caller's goroutine was ended by the callback.
func (c *call) settleExit() {
	c.leave()
	c.w.note("%s exits", c)
	c.w.count.exits++
	c.checkDone(c.ending == exits)
}

// checkDone: the callback has run to its end, in the way that was reported.
func (c *call) checkDone(asPlanned bool) {
	c.w.count.done++
	if c.returned.IsZero() || !asPlanned {
		c.w.violated("%s reports an end of the callback that was not", c)
	}
}

// checkLost looks at a loss.
func (c *call) checkLost(e *actorlock.LockLostError) {
	w, key := c.w, c.keyName()
	w.count.loss(e)
	if e.Key != key {
		w.violated("%s: the error names %q", c, e.Key)
	}
	switch {
	case c.started.IsZero() && c.inside == nil && c.former != nil:
		// Its ctx descends from a lost lock: it is not let in any more.
		return
	case c.started.IsZero() && c.inside == nil:
		w.violated("%s lost a lock that it never had: %v", c, e)
	case c.started.IsZero():
	case c.hold.ctx.Err() == nil && c.inside == nil:
		// A re-entry from within a Lock's context does not end with the outer hold.
		w.violated("%s reports a loss that the callback was not told: %v", c, e)
	case c.await && c.returned.IsZero() && c.inside == nil:
		w.violated("%s has not awaited its callback", c)
	case !c.await && c.form != manual && c.inside == nil && !c.lost.IsZero() && c.settled.Sub(c.lost) > prompt && c.returned.After(c.lost.Add(prompt)):
		w.violated("%s reports a loss after %v", c, c.settled.Sub(c.lost))
	}
	from := c.begun
	if c.inside != nil {
		from = c.inside.begun
	}
	switch {
	case errors.Is(e, lease.ErrShutdown):
		if c.node.closing.IsZero() {
			w.violated("%s was lost by a shutdown that was not", c)
		}
	case errors.Is(e.Err, lease.ErrReleased):
		if c.inside == nil || c.inside.returned.IsZero() {
			w.violated("%s outlived nothing: %v", c, e)
		}
	case c.node.wasDisturbed(key):
	case errors.Is(e.Err, lease.ErrLeaseGone), errors.Is(e.Err, lease.ErrLeaseTaken):
		for _, t := range w.ledger.keys[key].thefts {
			if t.victim == c.node && !t.at.Before(from.Add(-w.plan.maxTTL)) {
				return
			}
		}
		w.violated("%s lost its lock, and nobody took it: %v", c, e)
	default:
		w.violated("%s lost its lock without need: %v", c, e)
	}
}

// checkRefused looks at a call that did not get the lock.
func (c *call) checkRefused(e *actorlock.AcquireError) {
	w, waited := c.w, c.settled.Sub(c.begun)
	w.count.refused++
	if !c.started.IsZero() {
		w.violated("%s was refused after it had started: %v", c, e)
	}
	if c.inside != nil {
		w.violated("%s is a re-entry and was refused: %v", c, e)
	}
	if !c.overtaken.IsZero() && c.settled.After(c.overtaken) {
		w.violated("%s was overtaken at %v, and refused later: %v", c, c.overtaken.Sub(w.start), e)
	}
	ctxErr := c.ctx.Err()
	saysCtx := errors.Is(e, context.DeadlineExceeded) || errors.Is(e, context.Canceled)
	switch {
	case errors.Is(e, lease.ErrShutdown):
		w.count.parked++
		switch {
		case c.node.closing.IsZero():
			w.violated("%s was refused by a shutdown that was not", c)
		case ctxErr == nil && !c.node.failFast:
			w.violated("%s returned after Shutdown although its ctx has not ended", c)
		case ctxErr != nil && !saysCtx:
			w.violated("%s does not say that its ctx has ended: %v", c, e)
		}
	case ctxErr != nil && (errors.Is(e, ctxErr) || errors.Is(e, context.Cause(c.ctx))):
		w.count.cancelled++
	case errors.Is(e, lease.ErrHeld):
		w.count.held++
		c.checkBudget(waited)
	case errors.Is(e, lease.ErrNoReply) && c.wait > 0 && waited <= w.command():
		// It would not wait for as long as a command takes.
	case c.node.wasDisturbed(c.keyName()):
		w.count.storeErrors++
	default:
		w.violated("%s was refused without need: %v", c, e)
	}
}

// checkBudget: a call gives up neither before its attempts or its time are used
// up nor long after.
func (c *call) checkBudget(waited time.Duration) {
	w := c.w
	least, most := time.Duration(-1), time.Duration(-1)
	if c.attempts >= 0 {
		most = time.Duration(c.attempts) * c.delay
		least = most - most/10
	}
	if c.wait > 0 && (most < 0 || c.wait < most) {
		most = c.wait
	}
	if c.wait > 0 && (least < 0 || c.wait < least) {
		least = c.wait
	}
	slack := w.command() + prompt
	if w.plan.kind.faulty() {
		slack += patience
	}
	switch {
	case least < 0:
		c.w.violated("%s gave up after %v, with nothing to end its wait", c, waited)
	case waited < least:
		c.w.violated("%s gave up after %v, its budget lasts %v", c, waited, least)
	case waited > most+slack:
		c.w.violated("%s gave up only after %v, its budget lasts %v", c, waited, most)
	}
}

// checkPrompt: a call that runs no callback returns when its ctx ends.
func (c *call) checkPrompt() {
	if end := c.ctxEnded; !end.IsZero() && c.settled.Sub(end) > prompt && c.settled.Sub(c.begun) > prompt {
		c.w.violated("%s returned %v after its ctx had ended", c, c.settled.Sub(end))
	}
}
