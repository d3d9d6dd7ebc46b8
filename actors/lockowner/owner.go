package lockowner

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/actors/renewer"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// Config is what the owners of a node share.
type Config struct {
	System    *actor.ActorSystem
	Store     lease.Store
	Node      string        // readable id, in lock values
	Origin    string        // random id of the manager, in marks and wake-ups
	Prefix    string        // before every key in the store
	PollerGap time.Duration // left free after each turn; 0: none
	Log       *slog.Logger
	Work      *tree.Work
	Clock     *tree.Clock
	Renewer   *actor.PID
	Context   context.Context // of all commands, patient; ends when the node gives up on them
}

// Props makes an owner. Which key it owns it learns from its first Acquire.
func Props(cfg *Config) *actor.Props {
	return tree.Props(cfg.Work, func() actor.Actor { return &owner{cfg: cfg} })
}

type state int

const (
	idle state = iota
	acquiring
	waiting
	held
	passing
	releasing
	closed
)

type owner struct {
	cfg      *Config
	c        actor.Context // valid in Receive only
	self     *actor.PID
	host     *tree.Host // of the message in hand
	key      string     // the caller's
	storeKey string
	state    state
	closing  bool
	probed   bool // the registry wants to know when there is nothing to do
	seen     int  // routed messages received
	flight   int  // number of the command in flight; results of others are stale
	*activity
	tenure *tenure // the lease while it is ours
	hold   *Hold
	holder *waiter
	until  time.Time // when the hold has lasted for too long, zero for never
}

// activity is what an owner needs while it has something to do or to wait for.
// A hold that lasts does without: there may be thousands.
type activity struct {
	queue   queue
	spent   []*waiter // in the queue, with no attempt left
	timer   tree.Timer
	overdue time.Time // when a command in flight is not waited for any longer
	acquisition
	watch
	trackAt time.Time // when the renewer gets to know of the lease, zero when it does
	turn    time.Time // when this turn of hand-overs began; zero after a long hold
	shared  bool      // others waited at the end of the last turn
	since   time.Time // when the hold began; zero after a long hold
	leaving *waiter   // has settled, and waits for what the store says
	arrange *checked  // for the hand-over that is under way
	lost    error     // the renewer's word, while that is so
}

// Receive implements actor.Actor.
func (o *owner) Receive(c actor.Context) {
	o.c, o.self = c, c.Self()
	o.awake()
	now := time.Now()
	switch m := c.Message().(type) {
	case *actor.Stopping:
		o.shut(now)
		return
	case *Acquire:
		o.seen++
		o.host = &m.host
		o.enqueue(m, now)
	case *Cancel:
		o.seen++
		if m.Acquire != nil {
			o.leave(&m.Acquire.waiter, now)
		}
	case *Inspect:
		o.seen++
		o.inspect(m)
	case *Release:
		o.host = m.Hold.host()
		o.settle(m.Hold, now)
	case *renewer.Lost:
		o.heard(m.Renewal, m.Err)
	case *tried:
		o.tried(m, now)
	case *checked:
		o.checked(m, now)
	case *released:
		o.released(m, now)
	case *Probe:
		o.probed = true
	case *woken:
		o.woken(m)
	case *tick:
	case *Drain:
		o.drain(now)
	case *Close:
		o.close(now)
	case *actor.Terminated:
		o.gone(m.Who, now)
	default:
		return
	}
	o.step(now)
	o.host = nil
	switch c.Message().(type) {
	case *tick, *Probe: // not after messages that others may soon follow
		o.doze()
	}
}

// awake makes the activity that a long hold has done without.
func (o *owner) awake() {
	if o.activity != nil {
		return
	}
	o.activity = new(activity)
	o.timer.On(o.cfg.Clock, o.self, &tick{})
	if o.tenure != nil {
		o.value, o.last = o.tenure.value, o.ours()
	}
}

// doze lets the activity go when a hold lasts that nobody waits for.
func (o *owner) doze() {
	now := time.Now()
	quiet := o.queue.empty() && !o.watching() && o.nextEvent(now).IsZero()
	if o.state == held && quiet && now.Sub(o.turn) >= turnLength {
		o.timer.Stop()
		o.activity = nil
	}
}

// step does what has become due: it spends budgets, starts an attempt, rests.
func (o *owner) step(now time.Time) {
	if !o.trackAt.IsZero() && !now.Before(o.trackAt) {
		o.track()
	}
	if o.state == held && !o.until.IsZero() && !now.Before(o.until) {
		o.lose(lease.ErrHeldTooLong)
	}
	late := o.flying() && !now.Before(o.overdue)
	if late {
		o.giveUp(now)
	}
	if o.closing {
		o.surrender()
		if o.flying() {
			o.timer.Set(o.overdue)
		}
		return
	}
	o.spend(now)
	if o.state == idle || o.state == waiting {
		switch {
		case o.queue.empty() && o.unsure:
			o.abandon()
		case o.queue.empty():
			o.rest()
		default:
			o.state = waiting
			if at := o.nextAttempt(); !at.IsZero() && !at.After(now) {
				o.attempt(now)
			}
		}
	}
	if o.state != acquiring || late {
		o.refuseSpent(now)
		if o.state == waiting && o.queue.empty() {
			o.step(now)
			return
		}
	}
	// Once there is a reason to watch, as long as anybody waits.
	o.watchIf(!o.queue.empty() && (o.state == waiting || o.watching()))
	o.timer.Set(o.nextEvent(now))
	if o.state == idle && o.probed {
		o.probed = false
		o.timer.Stop()
		o.c.Send(o.c.Parent(), &Idle{Owner: o.self, Key: o.key, Seen: o.seen})
	}
}

// rest forgets all that was known of the key.
func (o *owner) rest() {
	o.state = idle
	o.acquisition = acquisition{}
}

// nextEvent is when step, which was done at now, has something to do without a
// message.
func (o *owner) nextEvent(now time.Time) time.Time {
	at := o.queue.due()
	if o.state == waiting {
		at = sooner(at, o.nextAttempt())
	}
	at = sooner(at, o.trackAt)
	if o.state == held {
		at = sooner(at, o.until)
	}
	if o.flying() && o.overdue.After(now) {
		at = sooner(at, o.overdue)
	}
	return at
}

// flying says whether a command of the owner's own is in flight.
func (o *owner) flying() bool {
	return o.state == acquiring || o.state == passing || o.state == releasing
}

// giveUp stops waiting for a command that the store has not answered. An
// acquire goes on being in flight, so that a hung store is not asked again and
// again, but no caller is kept waiting for it.
func (o *owner) giveUp(now time.Time) {
	switch o.state {
	case acquiring:
		o.unsure = true
		if !o.last.any {
			o.last = sighting{any: true, err: lease.ErrNoReply}
		}
		if o.closing {
			o.flight++
			o.state = waiting
		}
	case passing:
		o.checked(&checked{errand: errand{flight: o.flight}, need: o.arrange.need, err: lease.ErrNoReply, contended: true}, now)
	case releasing:
		o.released(&released{errand: errand{flight: o.flight}, err: lease.ErrNoReply}, now)
	}
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// answer sends a caller what it waits for, and reports whether there was a way.
func (o *owner) answer(w *waiter, msg any) bool {
	switch {
	case w.Reply != nil:
		select {
		case w.Reply <- msg:
		default:
			o.cfg.Log.Error("actorlock: no room for an answer in the reply channel", "key", w.Key, "answer", fmt.Sprintf("%T", msg))
			return false
		}
	case w.sender != nil:
		o.cfg.System.Root.Send(w.sender, msg)
	default:
		return false
	}
	return true
}

func (o *owner) inspect(m *Inspect) {
	r := &Inspected{}
	if m.Key == o.key {
		r.Waiters = o.queue.len()
		if o.hold != nil {
			r.Token = o.hold.token
		}
	}
	select {
	case m.Reply <- r:
	default:
	}
}

// remaining is what is left of our own lease, for errors; never below 1 ms, as
// 0 stands for unknown.
func (o *owner) remaining(now time.Time) time.Duration {
	return max(o.tenure.term.Remaining(now), time.Millisecond)
}

var _ tree.Failer = (*owner)(nil)
