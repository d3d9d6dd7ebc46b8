package simulation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
)

// hold is a call's time with a lock, re-entries not counted.
type hold struct {
	c     *call
	ctx   context.Context
	lease func() lease.Lease
	token uint64
	from  time.Time
	dead  bool // was seen not to be alive
}

func (h *hold) String() string { return fmt.Sprintf("%s with token %d", h.c, h.token) }

func leaseOf(ctx context.Context) func() lease.Lease {
	return func() lease.Lease {
		l, _ := actorlock.LeaseFrom(ctx)
		return l
	}
}

func exit() { runtime.Goexit() }

// alive says whether the holder may believe that it has the lock: its callback
// has not returned, and its context has not ended. One whose caller's ctx has
// ended still has the lock, until its deadline.
func (h *hold) alive() bool {
	if !h.c.returned.IsZero() {
		return false
	}
	select {
	case <-h.ctx.Done():
		return h.lost() == nil && h.lease().Deadline().After(time.Now())
	default:
		return true
	}
}

// lost is the loss that has ended the context, nil when it was something else,
// the loss of an outer lock on another key for instance.
func (h *hold) lost() *actorlock.LockLostError {
	var lost *actorlock.LockLostError
	if errors.As(context.Cause(h.ctx), &lost) && lost.Key == h.c.keyName() {
		return lost
	}
	return nil
}

// start is the moment at which the callback begins, or Acquire has returned.
func (c *call) start(ctx context.Context, of func() lease.Lease) {
	w, now := c.w, time.Now()
	c.started = now
	c.unwait()
	l := of()
	h := &hold{c: c, ctx: ctx, lease: of, token: l.Token, from: now}
	c.hold = h
	w.note("%s has the lock, token %d", c, h.token)
	context.AfterFunc(ctx, func() {
		w.locked(func() {
			if lost := h.lost(); lost != nil {
				c.lost = time.Now()
				w.note("%s is told: %v", c, lost)
			}
		})
	})
	if l.Key != c.keyName() || l.Node != c.node.name {
		w.violated("%s: its lease says %q, %q", c, l.Key, l.Node)
	}
	if c.checkOpen(now); c.inside != nil {
		c.checkReentry(now)
		return
	}
	c.node.running++
	w.count.sections++
	if c.fencing != (h.token > 0) {
		w.violated("%s: fencing is %v", h, c.fencing)
	}
	c.checkOrder(now)
	w.checkToken(h, now)
	w.checkAlone(h, now)
}

// end is the moment at which the callback returns, or Release is called.
func (c *call) end() {
	c.returned = time.Now()
	c.w.note("%s has done its work", c)
	if c.inside == nil {
		c.node.running--
		holds := c.w.holds[c.key]
		if i := slices.Index(holds, c.hold); i >= 0 {
			c.w.holds[c.key] = slices.Delete(holds, i, i+1)
		}
	}
}

// checkOpen: from the first moment of Drain and Shutdown no callback starts.
func (c *call) checkOpen(now time.Time) {
	n := c.node
	switch {
	case !n.shut.IsZero() && now.After(n.shut):
		c.w.violated("%s started after Shutdown", c)
	case !n.closing.IsZero() && now.After(n.closing) && c.outer == nil:
		c.w.violated("%s started after Drain", c)
	}
}

// checkReentry: a nested call runs at once, with the token of the outer one.
func (c *call) checkReentry(now time.Time) {
	c.w.count.reentries++
	if !now.Equal(c.begun) {
		c.w.violated("%s is a re-entry, and waited %v", c, now.Sub(c.begun))
	}
	if c.hold.token != c.inside.hold.token {
		c.w.violated("%s is a re-entry into %s", c.hold, c.inside.hold)
	}
}

// checkToken: tokens rise with each new holder of a key. One that was robbed
// before it even started may come too late for that.
func (w *world) checkToken(h *hold, now time.Time) {
	if h.token == 0 {
		return
	}
	last := w.lastSeen[h.c.key]
	switch {
	case h.token > last:
		w.lastSeen[h.c.key] = h.token
	case h.token == last:
		w.violated("%s: the token was handed out before", h)
	case w.robbedUntil(h.c.keyName(), now, h.c.node).IsZero():
		w.violated("%s: an earlier holder had token %d", h, last)
	}
}

// checkAlone: nobody else is alive, unless one of the two was robbed a moment
// ago; then not for long.
func (w *world) checkAlone(h *hold, now time.Time) {
	holds := w.holds[h.c.key]
	for _, o := range holds {
		if !o.alive() {
			o.dead = true
			continue
		}
		if o.dead {
			w.violated("%s is alive again", o)
		}
		until := w.robbedUntil(h.c.keyName(), now, h.c.node, o.c.node)
		if until.IsZero() {
			w.violated("%s starts while %s is alive", h, o)
			continue
		}
		w.count.overlaps++
		w.note("%s overlaps %s, until %v at the latest", h, o, until.Sub(w.start))
		w.checkOverlap(h, o, until)
	}
	w.holds[h.c.key] = append(holds, h)
}

// checkOverlap looks again when one of two holders must have been told. By then
// something else may have happened to them.
func (w *world) checkOverlap(h, o *hold, until time.Time) {
	time.AfterFunc(time.Until(until)+ms/10, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !o.alive() || !h.alive() {
			return
		}
		now := time.Now()
		if until = w.robbedUntil(h.c.keyName(), now, h.c.node, o.c.node); until.IsZero() {
			w.violated("%s and %s overlap too long", h, o)
			return
		}
		w.checkOverlap(h, o, until)
	})
}

// strangerIn: a client of another make has taken a key.
func (w *world) strangerIn(r *record) {
	for _, o := range w.holds[r.key] {
		if o.alive() && w.robbedUntil(o.c.keyName(), time.Now(), o.c.node).IsZero() {
			w.violated("a stranger has the key while %s is alive", o)
		}
	}
}

// robbed notes the lease that a theft hits.
func (w *world) robbed(r *record, now time.Time) {
	for _, o := range w.holds[r.key] {
		if o.c.node == r.node && o.alive() {
			w.count.robbed++
		}
	}
}

// robbedUntil is until when a holder of one of the nodes may not know yet that
// the key was taken from it; zero when that is not so now. It is told by its
// next extension: a third of the TTL and a command after the theft. Where
// extensions themselves fail or hang, by its deadline.
func (w *world) robbedUntil(key string, now time.Time, nodes ...*node) time.Time {
	var last time.Time
	for _, t := range w.ledger.keys[key].thefts {
		if !slices.Contains(nodes, t.victim) {
			continue
		}
		until := t.at.Add(w.longestTTL()/3 + 2*w.command())
		if t.victim.disturbed[key].After(t.at.Add(-w.longestTTL())) {
			until = t.at.Add(w.longestTTL())
		}
		if !now.After(until) && until.After(last) {
			last = until
		}
	}
	return last
}

func (w *world) longestTTL() time.Duration { return w.plan.maxTTL }
