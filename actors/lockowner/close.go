package lockowner

import (
	"fmt"
	"time"

	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// close ends everything at shutdown. What may still stand in the store is
// surrendered as soon as no command is in flight.
func (o *owner) close(now time.Time) {
	o.closing = true
	o.refuseAll(now, lease.ErrShutdown, everyone)
	o.watchIf(false)
	o.timer.Stop()
	if o.state == held {
		value := o.tenure.value
		o.lose(lease.ErrShutdown)
		o.value, o.unsure = value, true
	}
}

// surrender gives what is left of the key to the parent, once.
func (o *owner) surrender() {
	if o.state != idle && o.state != waiting {
		return
	}
	o.state = closed
	s := &Surrendered{Owner: o.self, Key: o.key, StoreKey: o.storeKey}
	if o.unsure {
		s.Value = o.value
	}
	o.c.Send(o.c.Parent(), s)
}

// shut answers everybody when the actor is stopped without having surrendered.
func (o *owner) shut(now time.Time) {
	o.closing = true
	o.watchIf(false)
	o.timer.Stop()
	o.refuseAll(now, lease.ErrShutdown, everyone)
	o.reply()
	if o.hold != nil {
		o.lose(lease.ErrShutdown)
	}
	// Who has taken the lock already, of which word will not reach us any more.
	o.queue.each(func(w *waiter) {
		w.hold.end(&lease.LockLostError{Key: w.Key, Err: lease.ErrShutdown})
	})
}

// Fail implements tree.Failer: after a panic the callers get it as an error, the
// lease is released, and the key starts anew.
func (o *owner) Fail(c actor.Context, reason any) {
	o.awake()
	o.host = nil
	now := time.Now()
	err := fmt.Errorf("lock owner failed: %v", reason)
	if m, ok := c.Message().(*Acquire); ok && m.waiter.place == nil && !m.waiter.answered {
		m.waiter.Acquire = m
		o.refuse(&m.waiter, now, err)
	}
	o.refuseAll(now, err, everyone)
	o.reply()
	key, value := o.storeKey, o.value
	if o.hold != nil {
		o.lose(err)
	} else if o.tenure != nil {
		o.drop()
	}
	if value != "" {
		o.cfg.Work.Go(func() { discard(o.cfg, key, value) }, func(error) {})
	}
	o.watchIf(false)
	o.timer.Stop()
	o.flight++ // whatever is in flight comes back stale
	o.queue, o.spent, o.leaving = queue{}, nil, nil
	o.rest()
	o.step(now)
}
