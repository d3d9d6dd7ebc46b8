package lockowner

import (
	"time"

	"github.com/actorlock/actorlock/actors/renewer"
	"github.com/actorlock/actorlock/lease"
)

const (
	// turnLength bounds consecutive hand-overs while other nodes wait.
	turnLength = 50 * time.Millisecond
	// sharedTurn is the bound when others waited at the end of the last turn too:
	// who comes next is luck, and many turns make it even.
	sharedTurn = 20 * time.Millisecond
	// standBack is how long a node then leaves the key to the others.
	standBack = 5 * time.Millisecond
	// yields is how often others get to run, at most, before a lease that was
	// handed over goes back to the store: those who were served may come again.
	yields = 50
	// yielding ends that, and it is done only after holds that are shorter: on a
	// busy machine others run for long before it is our turn again.
	yielding = time.Millisecond
)

// need is what a hand-over needs first. The zero value: nothing.
type need struct {
	caller bool          // somebody to hand over to: those served may come again
	check  bool          // whether other nodes wait
	tokens int           // to reserve
	ttl    time.Duration // to set
}

// settle ends a hold whose callback has settled.
func (o *owner) settle(h *Hold, now time.Time) {
	if h == nil || o.hold != h {
		return // lost before, and answered then
	}
	h.end(lease.ErrReleased)
	o.leaving, o.hold, o.holder = o.holder, nil, nil
	o.onward(now)
}

// onward gives a lease that nobody holds to the next caller, or releases it.
func (o *owner) onward(now time.Time) {
	w, t := o.queue.head(), o.tenure
	switch {
	case w == nil && t.passed && now.Sub(o.since) < yielding && o.mayPass(nil, now):
		o.run(need{caller: true})
		return
	case w == nil:
		o.release()
		return
	}
	fresh := !t.used
	if !fresh && !o.mayPass(w, now) {
		o.release()
		return
	}
	var e need
	if !fresh && now.Sub(o.turn) >= o.turnLimit() {
		e.check = true
		o.run(e)
		return
	}
	if w.Ask.Fencing && !t.tokens.left() {
		if t.tokens.foreign {
			o.release()
			return
		}
		e.tokens = t.tokens.nextBlock()
	}
	if fresh && w.Ask.TTL == t.ttl && e == (need{}) {
		o.adopt(w)
		o.grant(now)
		return
	}
	if !lease.Passable(t.term.Remaining(now), w.Ask.TTL) {
		e.ttl = w.Ask.TTL
	}
	if e == (need{}) {
		o.adopt(w)
		if last := o.leaving; last != nil {
			last.released.Passed = now.Sub(o.since) < yielding
		}
		o.reply()
		o.grant(now)
		return
	}
	// An extension that is still on its way could undo another TTL.
	if e.ttl > 0 && !o.untrack() && e.ttl != t.ttl {
		o.release()
		return
	}
	o.run(e)
}

// mayPass says whether the lease may go to w, or to whoever comes, without the
// store's knowing.
func (o *owner) mayPass(w *waiter, now time.Time) bool {
	t := o.tenure
	switch {
	case (w != nil && !w.Ask.HandOver) || (o.leaving != nil && !o.leaving.Ask.HandOver):
		return false
	case t.term.Expired(now), now.Sub(t.term.Confirmed()) > t.ttl/3:
		return false // a theft would go unnoticed for too long
	case o.cfg.PollerGap > 0 && now.Sub(o.turn) >= turnLength:
		o.notBefore = now.Add(o.cfg.PollerGap)
		return false
	}
	return true
}

// turnLimit is how long this turn of hand-overs lasts before others are let in.
func (o *owner) turnLimit() time.Duration {
	if o.shared {
		return sharedTurn
	}
	return turnLength
}

// adopt makes the tenure that of its next holder.
func (o *owner) adopt(w *waiter) {
	t := o.tenure
	if t.ttl == w.Ask.TTL && t.policy == w.Ask.Policy && !t.renewal.Halted() {
		return
	}
	o.untrack()
	t.ttl, t.policy = w.Ask.TTL, w.Ask.Policy
	t.renewal = new(renewer.Renewal)
	o.renew()
}

// reply tells the last holder that all is well.
func (o *owner) reply() {
	if w := o.leaving; w != nil {
		o.leaving = nil
		w.released.Hold = &w.hold
		o.answer(w, &w.released)
		o.unwatchSender(w.sender)
	}
}

// run has done what a hand-over needs.
func (o *owner) run(n need) {
	t := o.tenure
	if n.check {
		o.reply() // its answer says nothing about the lease
	}
	m := &checked{key: o.storeKey, value: t.value, need: n}
	o.state, o.arrange, o.lost = passing, m, nil
	o.dispatch(min(patience, max(time.Until(t.term.Deadline()), spacing)), &m.errand, m)
}

// checked goes on with a hand-over when its errand has been run.
func (o *owner) checked(m *checked, now time.Time) {
	if m.flight != o.flight || o.state != passing {
		return
	}
	t := o.tenure
	err := m.err
	if o.lost != nil && !lease.IsLoss(err) {
		err = o.lost
	}
	switch {
	case lease.IsLoss(err):
		o.replyLost(err)
		o.drop()
		return
	case m.need.check && m.contended:
		o.shared = true
		o.notBefore = now.Add(standBack)
		o.release()
		return
	case err != nil && !m.need.check, o.closing, o.lost != nil, m.need.caller && o.queue.empty():
		o.release()
		return
	case m.need.check:
		o.turn, o.shared = now, false
	case m.need.ttl > 0 && !t.term.Confirm(m.sent, now, m.need.ttl):
		o.release()
		return
	}
	if m.need.tokens > 0 {
		t.tokens.add(m.first, m.need.tokens)
	}
	if m.need.ttl > 0 {
		t.ttl = m.need.ttl
	}
	o.onward(now)
}

// replyLost tells the last holder that the store found the lease lost.
func (o *owner) replyLost(err error) {
	if w := o.leaving; w != nil {
		o.leaving = nil
		o.answer(w, &Lost{Hold: &w.hold, Err: &lease.LockLostError{Key: w.Key, Err: err}})
		o.unwatchSender(w.sender)
	}
}
