package registry

import (
	"slices"
	"time"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

type state int

const (
	open state = iota
	draining
	closing
	closed
)

// pause is the time between two sweeps: an owner that had no message from one
// to the next is asked whether it is idle.
const pause = 150 * time.Millisecond

// crowd is how many owners may be spawned before the next sweep at least.
const crowd = 512

// entry is an owner and the count of messages it was sent.
type entry struct {
	owner  *actor.PID
	sent   int
	seen   int // sent, at the last sweep
	probed int // sent, when it was last asked
}

type registry struct {
	cfg    Config
	props  *actor.Props // of owners
	state  state
	owners map[string]*entry // by the caller's key
	spare  []*entry
	fired  map[string]bool // dismissed and not stopped yet, by the actor's id
	timer  *tree.Timer     // of the next sweep, set while an owner was not asked yet
	hired  int             // owners spawned since the last sweep
}

// Receive implements actor.Actor.
func (r *registry) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.timer = tree.NewTimer(r.cfg.Owners.System, c.Self(), &tick{})
	case *actor.Stopping:
		r.timer.Stop()
		r.state = closed // of every owner's end we hear now
	case *tick:
		r.sweep(c)
	case *lockowner.Acquire:
		if m != nil {
			r.acquire(c, m)
		}
	case *lockowner.Cancel:
		if m != nil && m.Acquire != nil {
			r.forward(c, m.Acquire.Key)
		}
	case *lockowner.Inspect:
		if m != nil && !r.forward(c, m.Key) {
			reply(m.Reply, &lockowner.Inspected{})
		}
	case *lockowner.Idle:
		r.retire(c, m)
	case *lockowner.Surrendered:
		r.surrendered(c, m)
	case *Drain:
		r.drain(c)
	case *Close:
		r.close(c)
	case *Abort:
		r.finish(c)
	case *actor.Terminated:
		r.terminated(c, m.Who)
	}
}

// acquire routes a caller to the owner of its key.
func (r *registry) acquire(c actor.Context, m *lockowner.Acquire) {
	cfg, now := r.cfg.Owners, time.Now()
	if r.state >= closing {
		answer(c, m, refused(m, lease.ErrShutdown))
		return
	}
	if h := m.Lineage.Find(cfg.Origin, m.Key); h != nil {
		switch err := h.Ended(now); err {
		case nil:
			answer(c, m, &lockowner.Granted{Hold: h, Shared: true})
			return
		case lease.ErrReleased: // at this very moment: a call like any other
		default:
			answer(c, m, refused(m, err))
			return
		}
	}
	if r.state == draining && !m.Lineage.Live(cfg.Origin, now) {
		answer(c, m, refused(m, lease.ErrShutdown))
		return
	}
	if r.owners[m.Key] == nil {
		r.owners[m.Key] = r.employ(c)
		if r.hired > max(crowd, len(r.owners)/2) {
			r.sweep(c) // many keys in a short time: do not wait for the pause
		}
	}
	r.forward(c, m.Key)
}

// employ finds an owner for a key that has none.
func (r *registry) employ(c actor.Context) *entry {
	if n := len(r.spare); n > 0 {
		e := r.spare[n-1]
		r.spare[n-1] = nil
		r.spare = r.spare[:n-1]
		return e
	}
	r.hired++
	e := &entry{owner: c.Spawn(r.props)}
	return e
}

// dismiss stops an owner that has no key any more. Not while closing: the end of
// the registry stops all that are left, and to stop one twice is a dead letter.
func (r *registry) dismiss(c actor.Context, e *entry) {
	r.fired[e.owner.Id] = true
	c.Stop(e.owner)
}

// forward passes the current message on to the owner of key, if there is one.
func (r *registry) forward(c actor.Context, key string) bool {
	e := r.owners[key]
	if e == nil {
		return false
	}
	if e.sent == e.probed {
		r.timer.Set(time.Now().Add(pause)) // it may have been quiet for long
	}
	e.sent++
	c.Forward(e.owner)
	return true
}

// sweep asks owners that have been quiet to say when they have nothing to do.
func (r *registry) sweep(c actor.Context) {
	r.hired = 0
	if r.state >= closing || len(r.owners) == 0 {
		return
	}
	busy := false
	for _, e := range r.owners {
		switch {
		case e.sent == e.probed:
		case e.sent == e.seen:
			e.probed = e.sent
			c.Send(e.owner, &lockowner.Probe{})
		default:
			busy = true
		}
		e.seen = e.sent
	}
	if busy {
		r.timer.Set(time.Now().Add(pause))
	}
}

// retire takes the key from an owner that has nothing to do, unless a message
// to it is still on its way.
func (r *registry) retire(c actor.Context, m *lockowner.Idle) {
	e := r.owners[m.Key]
	if e == nil || e.sent != m.Seen || !e.owner.Equal(m.Owner) {
		return
	}
	delete(r.owners, m.Key)
	switch {
	case r.state >= closing:
		r.settled(c)
	case len(r.spare) < r.cfg.Spare:
		r.spare = append(r.spare, e)
	default:
		r.dismiss(c, e)
	}
}

func (r *registry) drain(c actor.Context) {
	if r.state != open {
		return
	}
	r.state = draining
	for _, e := range r.owners {
		c.Send(e.owner, &lockowner.Drain{})
	}
}

func (r *registry) close(c actor.Context) {
	if r.state >= closing {
		return
	}
	r.state = closing
	r.spare = nil
	for _, e := range r.owners {
		c.Send(e.owner, &lockowner.Close{})
	}
	r.settled(c)
}

func (r *registry) surrendered(c actor.Context, m *lockowner.Surrendered) {
	e := r.owners[m.Key]
	if r.state != closing || e == nil || !e.owner.Equal(m.Owner) {
		return
	}
	delete(r.owners, m.Key)
	c.Send(c.Parent(), m)
	r.settled(c)
}

// settled tells the supervisor when a closing registry has no owner left.
func (r *registry) settled(c actor.Context) {
	if r.state == closing && len(r.owners) == 0 {
		r.finish(c)
	}
}

func (r *registry) finish(c actor.Context) {
	if r.state != closing {
		return
	}
	r.state = closed
	m := &Closed{}
	for key := range r.owners {
		m.Open = append(m.Open, key)
	}
	c.Send(c.Parent(), m)
}

// terminated forgets an owner that has died: the key can be had again.
func (r *registry) terminated(c actor.Context, who *actor.PID) {
	if r.fired[who.Id] || r.state == closed {
		delete(r.fired, who.Id)
		return
	}
	// It has failed, which is so rare that a search will do.
	if i := slices.IndexFunc(r.spare, func(e *entry) bool { return e.owner.Equal(who) }); i >= 0 {
		r.spare = slices.Delete(r.spare, i, i+1)
		return
	}
	for key, e := range r.owners {
		if e.owner.Equal(who) {
			delete(r.owners, key)
			r.settled(c)
			return
		}
	}
}

func refused(m *lockowner.Acquire, err error) *lockowner.Refused {
	return &lockowner.Refused{Err: &lease.AcquireError{Key: m.Key, Err: err}}
}

func answer(c actor.Context, m *lockowner.Acquire, msg any) {
	if m.Reply == nil {
		c.Respond(msg)
		return
	}
	select {
	case m.Reply <- msg:
	default: // its room is used up: the caller's own doing
	}
}

func reply(to chan *lockowner.Inspected, m *lockowner.Inspected) {
	select {
	case to <- m:
	default:
	}
}
