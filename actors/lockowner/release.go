package lockowner

import (
	"time"

	"github.com/actorlock/actorlock/lease"
)

// release gives the lease back to the store.
func (o *owner) release() {
	t := o.tenure
	o.untrack()
	t.term.End()
	o.tenure = nil
	r := &released{batch: [1]lease.Release{{Key: o.storeKey, Value: t.value, Origin: o.cfg.Origin, Certain: true}}}
	r.batch[0].Used, r.batch[0].Reserved = t.tokens.unused()
	o.send(r)
}

// send deletes a value of ours in the store.
func (o *owner) send(r *released) {
	o.state = releasing
	o.dispatch(patience, &r.errand, r)
}

// released goes on when a release has been answered.
func (o *owner) released(m *released, now time.Time) {
	if m.flight != o.flight || o.state != releasing {
		return
	}
	switch {
	case lease.IsLoss(m.err):
		o.replyLost(m.err)
	case m.err != nil:
		o.cfg.Log.Warn("actorlock: release failed, the key ends with its TTL", "key", o.key, "error", m.err)
	}
	o.reply()
	// What the next caller waits for may be free now, whatever was seen before.
	// Who gives up before the next attempt has last seen it held, by us.
	a := acquisition{hinted: true, notBefore: o.notBefore, owed: o.owed, gap: o.gap, last: o.ours()}
	if m.err != nil && !lease.IsLoss(m.err) && o.closing {
		a.value, a.unsure = o.value, true // to be tried again by the supervisor
	}
	if o.last.err == lease.ErrLeaseExpired {
		a.hinted, a.last = false, o.last
	}
	o.acquisition = a
	o.state = waiting
}
