package lockowner

import (
	"context"
	"time"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// patience bounds one command of an owner. A client that hangs longer counts
// as one that failed; what its command did is found out later.
const patience = 3 * time.Second

// Errand is one command of an owner's for the store: first it is run outside
// Receive, then it goes to the owner as the message with its outcome.
//
// Errand: lock owner -> a lent goroutine, which calls Do, -> lock owner.
type Errand struct {
	tree.Quiet
	cfg    *Config
	owner  *actor.PID
	flight int
	task   tree.Task
}

// Do runs the command. It returns the lock when the command was an acquire that
// got it for the caller whose goroutine this is, otherwise nil.
func (e *Errand) Do() *Hold {
	e.cfg.Work.Finish(e.task)
	if t, ok := e.task.(*tried); ok {
		return t.hold
	}
	return nil
}

// report sends the outcome to the owner.
func (e *Errand) report(outcome any) { e.cfg.System.Root.Send(e.owner, outcome) }

// context is that of the command: the owner has its own arrangements for a
// store that hangs.
func (e *Errand) context() context.Context { return lease.Patiently(e.cfg.Context) }

// dispatch has an errand run, in the goroutine that lender lends if there is
// one. When nothing has come after limit the owner goes on without.
func (o *owner) dispatch(lender *waiter, limit time.Duration, e *Errand, task tree.Task) {
	o.flight++
	o.overdue = time.Now().Add(limit)
	*e = Errand{cfg: o.cfg, owner: o.self, flight: o.flight, task: task}
	if lender != nil && lender.Lend != nil {
		o.cfg.Work.Lend()
		o.put(lender.Lend, e, lender)
		return
	}
	o.cfg.Work.Start(task)
}

// tried is an attempt to acquire: an errand -> lock owner.
type tried struct {
	tree.Quiet
	Errand
	asked   lease.Acquisition
	lender  *waiter
	sent    time.Time
	attempt lease.Attempt
	err     error

	tenure tenure // when it got the lease
	hold   *Hold  // when it took the lock for its lender
}

// Run implements tree.Task.
func (t *tried) Run() {
	t.sent = time.Now()
	t.attempt, t.err = t.cfg.Store.Acquire(t.context(), t.asked)
	if t.err == nil && t.attempt.Acquired {
		t.tenure.begin(t)
		t.take()
	}
	t.report(t)
}

// take gives the lock to the lender at once, if the call is still open.
func (t *tried) take() {
	w := t.lender
	if w == nil || w.Lend == nil || !t.inTime(time.Now()) || !w.claim.CompareAndSwap(unclaimed, taken) {
		return
	}
	w.grant(t.cfg, &t.tenure, t.owner)
	t.hold = &w.hold
}

// inTime says whether a lease that was acquired is worth anything.
func (t *tried) inTime(now time.Time) bool { return lease.DeadlineOf(t.sent, t.asked.TTL).After(now) }

// Failed implements tree.Task.
func (t *tried) Failed(err error) {
	t.err = err
	t.report(t)
}

// released is a release: an errand -> lock owner.
type released struct {
	tree.Quiet
	Errand
	release lease.Release
	err     error
}

// Run implements tree.Task.
func (r *released) Run() {
	begin := time.Now()
	r.err = r.once()
	if r.err != nil && !lease.IsLoss(r.err) && r.release.Certain && time.Since(begin) < patience {
		// The reply is missing. Again, so that the key does not stand until
		// its TTL; but "gone" can now be our own doing.
		r.release.Certain = false
		if r.err = r.once(); lease.IsLoss(r.err) {
			r.err = nil
		}
	}
	r.report(r)
}

func (r *released) once() (verdict error) {
	r.cfg.Store.Release(r.context(), []lease.Release{r.release}, func(_ int, err error) { verdict = err })
	return verdict
}

// Failed implements tree.Task.
func (r *released) Failed(err error) {
	r.err = err
	r.report(r)
}

// checked is what a hand-over needs to know or have: an errand -> lock owner.
type checked struct {
	tree.Quiet
	Errand
	key, value string
	need       need
	sent       time.Time
	first      uint64 // of the tokens that were reserved
	contended  bool
	err        error
}

// Run implements tree.Task.
func (m *checked) Run() {
	ctx, s := m.context(), m.cfg.Store
	m.sent = time.Now()
	switch {
	case m.need.check:
		m.contended, m.err = s.Contended(ctx, m.key, m.cfg.Origin)
		m.contended = m.contended || m.err != nil
	case m.need.tokens > 0:
		m.first, m.err = s.Reserve(ctx, lease.Reservation{Key: m.key, Value: m.value, Tokens: m.need.tokens, TTL: m.need.ttl})
	default:
		s.Extend(ctx, []lease.Extension{{Key: m.key, Value: m.value, TTL: m.need.ttl}}, func(_ int, err error) { m.err = err })
	}
	m.report(m)
}

// Failed implements tree.Task.
func (m *checked) Failed(err error) {
	m.err, m.contended = err, true
	m.report(m)
}
