package lockowner

import (
	"context"
	"time"

	"github.com/actorlock/actorlock/lease"
)

// acquisition is the state of getting the lease: one value for all its attempts.
type acquisition struct {
	value     string
	sent      time.Time     // last attempt
	gap       time.Duration // shortest delay among those whose due time has come
	jitter    float64       // of the next attempt, in [0,1)
	unsure    bool          // the outcome of an attempt is not known
	bare      bool          // an attempt has asked for no fencing: it mints no token
	owed      bool          // a due time has come since the last attempt
	hinted    bool          // the key may have become free since then
	expires   time.Time     // when the holder's key does, as last seen; asked once
	notBefore time.Time     // standing back: no attempt before this
	last      sighting
}

// sighting is what the last attempt saw.
type sighting struct {
	any    bool
	holder string
	ttl    time.Duration
	err    error
}

// ours is the sighting of a key that this node has, which its waiters hear of.
func (o *owner) ours() sighting { return sighting{any: true, holder: o.cfg.Node} }

func (s sighting) verdict() error {
	switch {
	case s.err != nil:
		return s.err
	case !s.any:
		return lease.ErrNoReply
	}
	return lease.ErrHeld
}

// owe notes that a caller's due time has come.
func (a *acquisition) owe(w *waiter) {
	if !a.owed || w.budget.delay < a.gap {
		a.gap = w.budget.delay
	}
	a.owed = true
}

// nextAttempt is when the store should be asked next, the zero time for not
// before something happens. Many callers ask no more often than one would: a
// due time soon after a command waits until most of the delay has passed, by a
// jitter of the node's own less than all, but a caller's last one is not missed.
func (o *owner) nextAttempt() time.Time {
	a := &o.acquisition
	var at time.Time
	if a.owed {
		at = a.sent
		if o.queue.len() > 1 {
			short := a.gap / 10
			if len(o.spent) == 0 {
				short = time.Duration(a.jitter * float64(short))
			}
			at = a.sent.Add(a.gap - short)
		}
		if at.IsZero() {
			at = time.Unix(0, 0) // nothing was sent yet: now
		}
	}
	if a.hinted {
		at = sooner(at, a.sent.Add(spacing))
	}
	at = sooner(at, a.expires)
	if !at.IsZero() && at.Before(a.notBefore) {
		at = a.notBefore
	}
	return at
}

// attempt asks the store for the key on behalf of the head of the queue.
func (o *owner) attempt(now time.Time) {
	head := o.queue.head()
	if o.unsure && o.bare && head.Ask.Fencing {
		o.abandon() // what it may have got has no token of its own
		return
	}
	if o.value == "" {
		o.value, o.unsure = lease.NewValue(o.cfg.Node), false
	}
	asked := lease.Acquisition{
		Key: o.storeKey, Value: o.value, TTL: head.Ask.TTL, Fence: head.Ask.Fencing,
		Origin: o.cfg.Origin,
	}
	if !head.budget.spent() {
		asked.Mark = max(2*head.budget.delay, 10*time.Millisecond)
	}
	o.bare = o.bare || !asked.Fence
	o.sent, o.owed, o.hinted, o.expires = now, false, false, time.Time{}
	o.jitter = jitter()
	o.state = acquiring
	m := &tried{asked: asked, caller: head}
	o.dispatch(patience, &m.errand, m)
}

// tried deals with the outcome of an attempt.
func (o *owner) tried(m *tried, now time.Time) {
	if m.flight != o.flight || o.state != acquiring {
		o.stale(m)
		return
	}
	o.state = waiting
	if o.closing {
		o.unsure = o.unsure || m.attempt.Acquired || (m.err != nil && lease.KindOf(m.err) == lease.Unknown)
		if m.hold != nil {
			o.refuseHold(m, lease.ErrShutdown)
		}
		return
	}
	switch {
	case m.err != nil:
		o.unsure = o.unsure || lease.KindOf(m.err) == lease.Unknown
		o.last = sighting{any: true, err: m.err}
		if lease.KindOf(m.err) == lease.Permanent {
			o.refuseAll(now, nil, everyone)
		}
	case !m.attempt.Acquired:
		o.last = sighting{any: true, holder: m.attempt.Holder, ttl: m.attempt.TTL}
		if m.attempt.TTL > 0 {
			o.expires = now.Add(m.attempt.TTL + spacing)
		}
	case m.hold == nil && !m.inTime(now):
		o.last = sighting{any: true, err: lease.ErrLeaseExpired}
		o.abandon()
	default:
		o.begin(m, now)
		return
	}
	o.refuseSpent(now)
}

// stale deals with the outcome of an attempt that was given up before. What it
// may have got goes back, unless a later attempt has recognised the value.
func (o *owner) stale(m *tried) {
	if m.hold != nil {
		o.refuseHold(m, lease.ErrNoReply)
	}
	if m.asked.Value != o.value && (m.attempt.Acquired || m.err != nil) {
		o.cfg.Work.Go(func() { discard(o.cfg, m.asked.Key, m.asked.Value) }, func(error) {})
	}
}

// refuseHold ends a hold that was taken while the owner had other plans.
func (o *owner) refuseHold(m *tried, reason error) {
	e := m.hold.lost(reason)
	m.hold.end(e)
	o.answer(m.caller, &Lost{Hold: m.hold, Err: e})
}

// abandon gives up the acquisition, and releases what it may have got.
func (o *owner) abandon() {
	o.send(&released{batch: [1]lease.Release{{Key: o.storeKey, Value: o.value, Origin: o.cfg.Origin}}})
}

// discard deletes a lease that nobody holds. Its outcome changes nothing: what
// it does not reach ends with its TTL.
func discard(cfg *Config, key, value string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cfg.Context), patience)
	defer cancel()
	cfg.Store.Release(ctx, []lease.Release{{Key: key, Value: value, Origin: cfg.Origin}}, func(_ int, err error) {
		if err != nil && !lease.IsLoss(err) {
			cfg.Log.Warn("actorlock: a lease that nobody holds was left to expire", "key", key, "error", err)
		}
	})
}
