package lockowner

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// patience bounds one command of an owner. A client that hangs longer counts
// as one that failed; what its command did is found out later.
const patience = 3 * time.Second

// errand is what an owner has done outside Receive, one command for the store as
// a rule; with its outcome it is then the message that goes back to the owner.
type errand struct {
	tree.Quiet
	tree.Job
	cfg    *Config
	owner  *actor.PID
	flight int
}

// Direct implements tree.Direct.
func (e *errand) Direct() bool { return true }

// report sends the outcome to the owner.
func (e *errand) report(outcome any) { e.cfg.System.Root.Send(e.owner, outcome) }

// dispatch has an errand run. When nothing has come after limit the owner goes
// on without.
func (o *owner) dispatch(limit time.Duration, e *errand, task tree.Task) {
	o.flight++
	o.overdue = time.Now().Add(limit)
	e.cfg, e.owner, e.flight = o.cfg, o.self, o.flight
	o.cfg.Work.Start(task, &e.Job, o.host)
	o.host = nil
}

// tried: an attempt to acquire -> lock owner.
type tried struct {
	errand
	asked   lease.Acquisition
	caller  *waiter // on whose behalf
	sent    time.Time
	attempt lease.Attempt
	err     error

	tenure *tenure // when it got the lease
	hold   *Hold   // when it took the lock for its caller
	here   bool    // in a goroutine of the caller's own, who looks at hold
}

// Do implements tree.Task.
func (t *tried) Do() {
	t.sent = time.Now()
	t.attempt, t.err = t.cfg.Store.Acquire(t.cfg.Context, t.asked)
	if t.err == nil && t.attempt.Acquired {
		t.tenure = newTenure(t)
		t.take()
	}
	t.report(t) // first: the owner gets to know of the hold before its release
	if t.hold != nil && !t.here {
		t.caller.Grantee.Granted(t.hold)
	}
}

// take gives the lock to the caller at once, if the call is still open.
func (t *tried) take() {
	w := t.caller
	if w.Grantee == nil || !t.inTime(time.Now()) || !w.claim.CompareAndSwap(unclaimed, taken) {
		return
	}
	w.grant(t.tenure)
	t.hold = &w.hold
}

// inTime says whether a lease that was acquired is worth anything.
func (t *tried) inTime(now time.Time) bool { return lease.DeadlineOf(t.sent, t.asked.TTL).After(now) }

// Failed implements tree.Task.
func (t *tried) Failed(err error) {
	t.err = err
	t.report(t)
}

// released: a release -> lock owner.
type released struct {
	errand
	batch [1]lease.Release
	err   error
}

// Do implements tree.Task.
func (r *released) Do() {
	begin := time.Now()
	r.once(r.batch[:])
	if r.err != nil && !lease.IsLoss(r.err) && r.batch[0].Certain && time.Since(begin) < patience {
		// The reply is missing. Again, so that the key does not stand until
		// its TTL; but "gone" can now be our own doing.
		again := r.batch // another one: the first may still be read
		again[0].Certain = false
		if r.once(again[:]); lease.IsLoss(r.err) {
			r.err = nil
		}
	}
	r.report(r)
}

func (r *released) once(batch []lease.Release) {
	r.err = nil
	r.cfg.Store.Release(r.cfg.Context, batch, func(_ int, err error) { r.err = err })
}

// Failed implements tree.Task.
func (r *released) Failed(err error) {
	r.err = err
	r.report(r)
}

// checked: what a hand-over needs to know or have -> lock owner.
type checked struct {
	errand
	key, value string
	need       need
	sent       time.Time
	first      uint64 // of the tokens that were reserved
	contended  bool
	came       atomic.Bool // there is a caller
	err        error
}

// Do implements tree.Task.
func (m *checked) Do() {
	ctx, s := m.cfg.Context, m.cfg.Store
	m.sent = time.Now()
	switch {
	case m.need.caller:
		for n := 0; n < yields && !m.came.Load() && time.Since(m.sent) < yielding; n++ {
			runtime.Gosched()
		}
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
