package lockowner

import (
	"time"

	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// enqueue puts a caller into the queue, or refuses it.
func (o *owner) enqueue(m *Acquire, now time.Time) {
	w := &m.waiter
	w.Acquire = m
	w.budget = newBudget(now, m.Ask)
	if m.Reply == nil {
		w.sender = o.c.Sender()
	}
	// First of all: by this key the registry knows the owner, also when the call
	// comes to nothing.
	if o.state == idle && o.key != m.Key {
		o.key, o.storeKey, o.shared = m.Key, o.cfg.Prefix+m.Key, false
	}
	switch {
	case o.closing:
		o.refuse(w, now, lease.ErrShutdown)
		return
	case m.cancelled.Load(): // on its way here
		o.refuse(w, now, nil)
		return
	}
	free := o.state == idle || (o.state == acquiring && o.queue.empty())
	if m.Ask.Attempts == 0 && !free {
		// Held here, or others were first: no need to ask the store.
		w.budget.count(now, 0)
		o.refuse(w, now, lease.ErrHeld)
		return
	}
	if n := m.Ask.MaxWaiters; n > 0 && o.state != idle && o.queue.len() >= n {
		o.refuse(w, now, lease.ErrTooManyWaiters)
		return
	}
	if w.sender != nil {
		o.c.Watch(w.sender)
	}
	o.queue.push(w)
	if o.state == passing {
		o.arrange.came.Store(true)
	}
}

// leave takes a caller that gave up out of the queue. One that has its answer
// already is left alone: a grant comes back as a Release.
func (o *owner) leave(w *waiter, now time.Time) {
	if w.place != nil {
		o.refuse(w, now, nil)
	}
}

// refuse answers a caller that does not get the lock, with err or with what was
// last seen of the key.
func (o *owner) refuse(w *waiter, now time.Time, err error) {
	if w.place != nil && !w.decide() {
		o.queue.silence(w)
		return // taken: we shall be told of it
	}
	if w.place != nil {
		o.queue.remove(w)
	}
	w.answered = true
	e := &lease.AcquireError{Key: w.Key, Attempts: w.budget.made, Waited: now.Sub(w.budget.start)}
	switch {
	case o.tenure != nil:
		e.Holder, e.TTL, e.Err = o.cfg.Node, o.remaining(now), lease.ErrHeld
	case o.state == releasing && o.last.err == nil:
		e.Holder, e.Err = o.cfg.Node, lease.ErrHeld
	default:
		e.Holder, e.TTL, e.Err = o.last.holder, o.last.ttl, o.last.verdict()
	}
	if err != nil {
		e.Err = err
	}
	o.answer(w, &Refused{Err: e})
	o.unwatchSender(w.sender)
}

// refuseAll empties the queue of those that match.
func (o *owner) refuseAll(now time.Time, err error, match func(*waiter) bool) {
	o.queue.each(func(w *waiter) {
		if match(w) {
			o.refuse(w, now, err)
		}
	})
}

func everyone(*waiter) bool { return true }

// spend counts the attempts that are due and refuses callers whose time to wait
// has ended.
func (o *owner) spend(now time.Time) {
	for w := o.queue.first(); w != nil && !o.queue.due().After(now); w = o.queue.first() {
		if w.budget.over(now) {
			o.refuse(w, now, nil)
			continue
		}
		if w.budget.count(now, jitter()) {
			o.owe(w)
			if w.budget.spent() {
				o.spent = append(o.spent, w)
			}
		}
		o.queue.update(w)
	}
}

// refuseSpent refuses callers that have no attempt left and for whom no command
// is in flight.
func (o *owner) refuseSpent(now time.Time) {
	for i, w := range o.spent {
		o.spent[i] = nil
		if w.place != nil {
			o.refuse(w, now, nil)
		}
	}
	o.spent = o.spent[:0]
}

// drain refuses whoever waits and is not called on behalf of a live lease.
func (o *owner) drain(now time.Time) {
	o.refuseAll(now, lease.ErrShutdown, func(w *waiter) bool { return !w.Lineage.Live(o.cfg.Origin, now) })
}

// gone ends what an actor that has stopped had asked for by message.
func (o *owner) gone(who *actor.PID, now time.Time) {
	o.queue.each(func(w *waiter) {
		if w.from(who) {
			o.queue.remove(w)
		}
	})
	if o.holder != nil && o.holder.from(who) {
		o.settle(o.hold, now)
	}
}

// unwatchSender stops watching an actor that has nothing here any more.
func (o *owner) unwatchSender(pid *actor.PID) {
	if pid == nil || (o.holder != nil && o.holder.from(pid)) {
		return
	}
	busy := false
	o.queue.each(func(w *waiter) { busy = busy || w.from(pid) })
	if !busy {
		o.c.Unwatch(pid)
	}
}
