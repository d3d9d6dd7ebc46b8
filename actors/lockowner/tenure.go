package lockowner

import (
	"time"

	"github.com/actorlock/actorlock/actors/renewer"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// tenure is the lease while it is this node's: from the acquire to the release
// or the loss, whoever of the node's callers holds it.
type tenure struct {
	cfg     *Config
	owner   *actor.PID
	value   string
	ttl     time.Duration // as the holder asked for it
	policy  lease.Policy
	used    bool // somebody has held it: to give it to another is a hand-over
	passed  bool // it was handed over
	term    lease.Term
	tokens  tokens
	renewal *renewer.Renewal
	first   renewer.Renewal // the renewal to begin with
}

// newTenure is the tenure that an attempt has got.
func newTenure(m *tried) *tenure {
	t := &tenure{
		cfg: m.cfg, owner: m.owner, value: m.asked.Value, ttl: m.asked.TTL, policy: m.caller.Ask.Policy,
		tokens: tokens{fresh: m.attempt.Token, foreign: m.attempt.ForeignKey},
	}
	t.term.Begin(m.sent, m.asked.TTL)
	t.renewal = &t.first
	return t
}

// tokens is a supply of fencing tokens: the one that came with the lease, then
// blocks reserved for hand-overs.
type tokens struct {
	fresh   uint64 // minted with the lease and not handed out yet
	next    uint64 // of the block
	last    uint64 // of the block
	size    int32  // of the last block
	foreign bool   // none can be reserved
}

// A block is small, so that what a crash leaves unused is soon overtaken by the
// clock, and grows with use, so that a hot key asks for one rarely.
const (
	firstBlock = 64
	maxBlock   = 2048
)

func (t *tokens) left() bool { return t.fresh > 0 || (t.next > 0 && t.next <= t.last) }

// take hands out the next token. It is called only when one is left.
func (t *tokens) take() uint64 {
	if f := t.fresh; f > 0 {
		t.fresh = 0
		return f
	}
	t.next++
	return t.next - 1
}

// nextBlock is the size of the next block to reserve.
func (t *tokens) nextBlock() int { return max(firstBlock, min(2*int(t.size), maxBlock)) }

func (t *tokens) add(first uint64, size int) {
	t.next, t.last, t.size = first, first+uint64(size)-1, int32(size)
}

// unused is what goes back with the release: the last token handed out and the
// last reserved, or zeros.
func (t *tokens) unused() (used, reserved uint64) {
	if t.next == 0 || t.next > t.last {
		return 0, 0
	}
	return t.next - 1, t.last
}

// begin takes possession of the lease that an attempt has got.
func (o *owner) begin(m *tried, now time.Time) {
	o.tenure, o.unsure, o.last, o.turn = m.tenure, false, o.ours(), now
	o.renew()
	if m.hold == nil {
		o.onward(now)
		return
	}
	w := m.caller
	o.queue.remove(w)
	o.occupy(w, now)
}

// occupy makes w's hold the one that lasts.
func (o *owner) occupy(w *waiter, now time.Time) {
	o.state, o.hold, o.holder, o.until, o.since = held, &w.hold, w, time.Time{}, now
	o.tenure.passed = o.tenure.used
	o.tenure.used = true
	if w.Ask.MaxHold > 0 {
		o.until = now.Add(w.Ask.MaxHold)
	}
}

// renew describes the lease to the renewer, which gets to see it later: most
// holds are over by then. Until that time the deadline is far away.
func (o *owner) renew() {
	t := o.tenure
	r := t.renewal
	r.Key, r.Value, r.TTL, r.Policy, r.Term, r.Owner = o.storeKey, t.value, t.ttl, t.policy, &t.term, o.self
	o.trackAt = t.term.Confirmed().Add(min(t.ttl/8, untracked))
}

// untracked is how long a hold may last without the renewer's knowing.
const untracked = 100 * time.Millisecond

// track has the renewer extend the lease from now on.
func (o *owner) track() {
	o.trackAt = time.Time{}
	o.c.Send(o.cfg.Renewer, &renewer.Track{Renewal: o.tenure.renewal})
}

// untrack has it left alone. It reports whether no extension is on its way.
func (o *owner) untrack() (quiet bool) {
	quiet = o.tenure.renewal.Halt()
	if o.trackAt.IsZero() {
		o.c.Send(o.cfg.Renewer, &renewer.Untrack{Renewal: o.tenure.renewal})
	}
	o.trackAt = time.Time{}
	return quiet
}

// grant gives the lease to the head of the queue.
func (o *owner) grant(now time.Time) {
	w := o.queue.head()
	o.queue.remove(w)
	if !w.decide() { // cannot be: a call is taken only while an attempt is in flight
		panic("lock owner: granted twice")
	}
	w.grant(o.tenure)
	o.occupy(w, now)
	if w.Grantee != nil {
		w.Grantee.Granted(&w.hold)
		return
	}
	if !o.answer(w, &Granted{Hold: &w.hold}) {
		o.settle(&w.hold, now) // nobody knows of it who could release it
	}
}

// grant makes w's hold of the lease.
func (w *waiter) grant(t *tenure) {
	w.answered = true
	w.host.Keep() // whoever asked for the lock: its release is the holder's business
	h := &w.hold
	h.call, h.tenure = w.Acquire, t
	if w.Ask.Fencing && t.tokens.left() {
		h.token = t.tokens.take()
	}
}

// heard deals with the renewer's word that the lease is lost: whoever holds it
// is told at once, and the key is an ordinary one again.
func (o *owner) heard(r *renewer.Renewal, err error) {
	t := o.tenure
	if t == nil || t.renewal != r {
		return // released meanwhile
	}
	switch o.state {
	case held:
		o.lose(err)
	case passing:
		o.lost = err
	}
}

// lose ends the hold and the tenure with it. Nothing is deleted: the callback
// may still run, and the old value keeps others out until its TTL.
func (o *owner) lose(err error) {
	h, w := o.hold, o.holder
	o.hold, o.holder = nil, nil
	e := h.lost(err)
	h.end(e)
	o.drop()
	o.answer(w, &Lost{Hold: h, Err: e})
	o.unwatchSender(w.sender)
	if err == lease.ErrShutdown {
		return
	}
	o.cfg.Log.Warn("actorlock: lock lost", "key", o.key, "token", h.token, "error", err)
}

// drop forgets a lease that is not ours any more.
func (o *owner) drop() {
	o.untrack()
	o.tenure.term.End()
	o.tenure = nil
	last := o.last
	o.acquisition = acquisition{last: last, hinted: true}
	o.state = waiting
}
