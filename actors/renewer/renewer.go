package renewer

import (
	"context"
	"fmt"
	"time"

	"github.com/actorlock/actorlock/actors/internal/agenda"
	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// batchSize bounds a batch: 256 extensions block a Redis server's one thread
// for about a millisecond.
const batchSize = 256

type renewer struct {
	cfg    Config
	self   *actor.PID
	due    agenda.Agenda[*Renewal]
	timer  *tree.Timer
	ctx    context.Context // of all extensions
	cancel context.CancelFunc
}

// Receive implements actor.Actor.
func (r *renewer) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.self = c.Self()
		r.timer = tree.NewTimer(r.cfg.System, r.self, &tick{})
		r.ctx, r.cancel = context.WithCancel(context.Background())
	case *actor.Stopping:
		r.timer.Stop()
		r.cancel()
		return // not to set the timer again
	case *Track:
		r.plan(m.Renewal)
	case *Untrack:
		r.due.Remove(m.Renewal)
	case *tick:
		r.work(time.Now())
	case *failed:
		r.failed(m.Renewal, m.err)
	case *extended:
		r.landed(m.batch)
	default:
		return
	}
	r.timer.Set(r.due.Due())
}

// plan sets when a lease that was confirmed needs its next extension.
func (r *renewer) plan(l *Renewal) {
	l.failures = 0
	r.due.Set(l, lease.RenewalOf(l.Term.Confirmed(), l.TTL))
}

// work deals with everything that needs something by now.
func (r *renewer) work(now time.Time) {
	var batch []*Renewal
	for r.due.Len() > 0 {
		l := r.due.First()
		ahead := time.Duration(0)
		if l.flying == 0 && l.failures == 0 {
			ahead = early(l.TTL)
		}
		if r.due.Due().After(now.Add(ahead)) {
			break
		}
		deadline := l.Term.Deadline()
		if l.Term.Expired(now) {
			r.lose(l, lease.ErrLeaseExpired)
			continue
		}
		if l.flying > 0 {
			next := lease.RenewalOf(l.Term.Confirmed(), l.TTL)
			switch answered := !l.Term.Confirmed().Before(l.sent); {
			case answered && next.After(now):
				r.due.Set(l, next)
				continue
			case answered:
				// Another lease of its batch is not, and must not hold it up.
			case l.Policy == lease.LoseAtOnce:
				// Only an answer or the deadline decides.
				r.due.Set(l, deadline)
				continue
			}
		}
		l.flying++
		l.sent = now
		next := earlier(deadline, lease.RenewalOf(now, l.TTL))
		if l.Policy == lease.RetryUntilDeadline {
			next = earlier(next, now.Add(patience(l.TTL, deadline.Sub(now))))
		}
		r.due.Set(l, next)
		if batch = append(batch, l); len(batch) == batchSize {
			r.extend(batch)
			batch = nil
		}
	}
	if len(batch) > 0 {
		r.extend(batch)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (r *renewer) lose(l *Renewal, err error) {
	if r.due.Remove(l) {
		r.cfg.System.Root.Send(l.Owner, &Lost{Renewal: l, Err: err})
	}
}

// failed deals with an extension that was not granted.
func (r *renewer) failed(l *Renewal, err error) {
	if !l.Listed() {
		return // untracked, or lost already
	}
	switch {
	case lease.IsLoss(err):
		r.lose(l, err)
		return
	case l.Term.Expired(time.Now()):
		// Most often the command was cut off for that.
		r.lose(l, fmt.Errorf("%w: %w", lease.ErrLeaseExpired, err))
		return
	case l.Policy == lease.LoseAtOnce:
		r.lose(l, err)
		return
	}
	l.failures++
	r.cfg.Log.Warn("actorlock: renewal failed, will be tried again", "key", l.Key, "error", err, "failures", l.failures)
	r.due.Set(l, earlier(l.Term.Deadline(), time.Now().Add(backOff(l.TTL, int(l.failures)))))
}

// landed plans the next extension of those that were renewed. The others have
// been dealt with by failed, which was sent first.
func (r *renewer) landed(batch []*Renewal) {
	now := time.Now()
	for _, l := range batch {
		l.flying--
		if !l.Listed() || l.flying > 0 {
			continue
		}
		if next := lease.RenewalOf(l.Term.Confirmed(), l.TTL); next.After(now) {
			r.plan(l)
		} else if l.failures == 0 {
			r.due.Set(l, now)
		}
	}
}

// extend sends one batch to the store.
func (r *renewer) extend(batch []*Renewal) {
	r.cfg.Work.Go(func() {
		defer r.cfg.System.Root.Send(r.self, &extended{batch: batch})
		r.send(batch)
	}, func(err error) {
		for _, l := range batch {
			r.cfg.System.Root.Send(r.self, &failed{Renewal: l, err: err})
		}
	})
}

func (r *renewer) send(batch []*Renewal) {
	// Whoever's release has begun by now is left alone.
	live := make([]*Renewal, 0, len(batch))
	exts := make([]lease.Extension, 0, len(batch))
	sent := time.Now()
	last := sent
	for _, l := range batch {
		if !l.begin() {
			continue
		}
		live = append(live, l)
		exts = append(exts, lease.Extension{Key: l.Key, Value: l.Value, TTL: l.TTL})
		if d := l.Term.Deadline(); d.After(last) {
			last = d
		}
	}
	if len(live) == 0 {
		return
	}
	ctx, cancel := context.WithDeadline(r.ctx, last)
	defer cancel()
	r.cfg.Store.Extend(ctx, exts, func(i int, err error) {
		l := live[i]
		l.settle(err)
		if err != nil {
			r.cfg.System.Root.Send(r.self, &failed{Renewal: l, err: err})
			return
		}
		// Here and not in the actor: a busy mailbox must not cost a lease. When
		// the term is over already, the renewer says so at its deadline.
		l.Term.Confirm(sent, time.Now(), l.TTL)
	})
}
