package simulation

import (
	"slices"
	"time"
)

// begin notes that the call is made.
func (c *call) begin() {
	w := c.w
	c.begun = time.Now()
	w.unsettle++
	w.count.calls++
	w.note("%s begins: %s", c, c.describe())
	if c.form == look {
		return
	}
	for o := c.outer; o != nil; o = o.outer {
		// Once the outer one has returned, which it may when its own lock is
		// lost, this is a call like any other.
		if o.key != c.key {
			continue
		}
		root := o
		if o.inside != nil {
			root = o.inside // whose lock it shares, and may outlive
		}
		if !o.returned.IsZero() || !root.returned.IsZero() {
			c.former = o
			continue
		}
		c.inside = root
		return
	}
	w.pending[c.key] = append(w.pending[c.key], c)
}

// unwait takes the call out of those that wait.
func (c *call) unwait() {
	p := c.w.pending[c.key]
	if i := slices.Index(p, c); i >= 0 {
		c.w.pending[c.key] = slices.Delete(p, i, i+1)
	}
}

// waits says whether the call stands in its node's queue.
func (c *call) waits() bool {
	return c.attempts != 0 && c.ctxEnded.IsZero() && c.node.closing.IsZero()
}

// checkOrder: the calls of a node get a key in the order in which they came.
// Who gives up at this moment may not have said so yet. Two that are let in at
// one moment, as the lock of the first is lost at once, may notice in either
// order: the tokens tell.
func (c *call) checkOrder(now time.Time) {
	if by := c.overtaker; by != nil && (now.After(c.overtaken) || by.hold.token > 0 && c.hold.token > by.hold.token) {
		c.w.violated("%s has the lock after a later call had it, at %v", c, c.overtaken.Sub(c.w.start))
	}
	for _, o := range c.w.pending[c.key] {
		if o.node == c.node && o.begun.Before(c.begun) && o.waits() && o.overtaken.IsZero() {
			o.overtaken, o.overtaker = now, c
		}
	}
}

// taken: a key that was free is not any more.
func (w *world) taken(r *record, now time.Time) {
	for _, c := range w.pending[r.key] {
		c.checkFree(r.freeSince(), now)
	}
}

// checkFreeKeys looks at those who wait for a key that is free.
func (w *world) checkFreeKeys() {
	now := time.Now()
	for _, r := range w.ledger.keys {
		if !r.held(now) {
			w.taken(r, now)
		}
	}
}

// checkFree: nobody waits longer than a RetryDelay while the key is free. now is
// the end of the time in which it was free, since.
func (c *call) checkFree(since, now time.Time) {
	w := c.w
	if c.begun.After(since) {
		since = c.begun
	}
	// A node that stands back for others, or leaves a gap, does so on purpose.
	const standBack = 5 * ms
	most := c.delay + w.command() + max(standBack, w.plan.gap) + 2*ms
	if !c.waits() || now.Sub(since) <= most {
		return
	}
	if c.node.disturbed[c.keyName()].After(since) {
		return
	}
	if !w.robbedUntil(c.keyName(), since, c.node).IsZero() {
		return // held by another call of the node, which does not know yet
	}
	w.violated("%s waits while its key has been free for %v", c, now.Sub(since))
}

// leave notes that the call has returned.
func (c *call) leave() {
	w := c.w
	c.settled = time.Now()
	w.unsettle--
	if r := w.ledger.keys[c.keyName()]; c.form != look && c.started.IsZero() && c.inside == nil && !r.held(c.settled) {
		c.checkFree(r.freeSince(), c.settled)
	}
	c.unwait()
}
