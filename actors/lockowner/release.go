package lockowner

import (
	"context"
	"time"

	"github.com/actorlock/actorlock/lease"
)

// release gives the lease back to the store.
func (o *owner) release() {
	t := o.tenure
	o.untrack()
	t.term.End()
	o.tenure = nil
	r := lease.Release{Key: o.storeKey, Value: t.value, Origin: o.cfg.Origin, Certain: true}
	r.Used, r.Reserved = t.tokens.unused()
	o.send(o.lender(), r)
}

// lender is the holder that leaves, if its goroutine is at our disposal.
func (o *owner) lender() *waiter {
	if o.lent {
		return o.leaving
	}
	return nil
}

// send deletes a value of ours in the store.
func (o *owner) send(lender *waiter, r lease.Release) {
	o.state = releasing
	o.flight++
	flight, cfg := o.flight, o.cfg
	begin := time.Now()
	o.io(lender, patience, func(ctx context.Context) any {
		err := once(ctx, cfg.Store, r)
		if err != nil && !lease.IsLoss(err) && r.Certain && time.Since(begin) < patience {
			// The reply is missing. Again, so that the key does not stand until
			// its TTL; but "gone" can now be our own doing.
			r.Certain = false
			if err = once(ctx, cfg.Store, r); lease.IsLoss(err) {
				err = nil
			}
		}
		return &released{flight: flight, err: err}
	}, func(err error) any {
		return &released{flight: flight, err: err}
	})
}

func once(ctx context.Context, s lease.Store, r lease.Release) (verdict error) {
	s.Release(ctx, []lease.Release{r}, func(_ int, err error) { verdict = err })
	return verdict
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
	a := acquisition{hinted: true, notBefore: o.notBefore, owed: o.owed, gap: o.gap}
	if m.err != nil && !lease.IsLoss(m.err) && o.closing {
		a.value, a.unsure = o.value, true // to be tried again by the supervisor
	}
	if o.last.err == lease.ErrLeaseExpired {
		a.hinted, a.last = false, o.last
	}
	o.acquisition = a
	o.state = waiting
}
