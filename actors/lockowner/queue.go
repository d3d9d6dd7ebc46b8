package lockowner

import (
	"container/list"
	"time"

	"github.com/actorlock/actorlock/actors/internal/agenda"
	"github.com/asynkron/protoactor-go/actor"
)

// waiter is a call that waits: its place in the queue and its budget.
type waiter struct {
	*Acquire
	budget      budget
	sender      *actor.PID
	place       *list.Element // nil once it has left
	agenda.Slot               // for when its budget changes

	released Released // the answer, here to be sent
}

// from says whether the call was made by the actor pid.
func (w *waiter) from(pid *actor.PID) bool { return w.sender != nil && w.sender.Equal(pid) }

// queue keeps waiters in order of arrival, and knows whose budget changes first.
type queue struct {
	line  list.List
	clock agenda.Agenda[*waiter]
}

func (q *queue) empty() bool { return q.line.Len() == 0 }
func (q *queue) len() int    { return q.line.Len() }

func (q *queue) head() *waiter {
	if e := q.line.Front(); e != nil {
		return e.Value.(*waiter)
	}
	return nil
}

func (q *queue) push(w *waiter) {
	w.place = q.line.PushBack(w)
	q.update(w)
}

// update puts w where its budget belongs on the clock.
func (q *queue) update(w *waiter) {
	if next := w.budget.next(); !next.IsZero() {
		q.clock.Set(w, next)
	} else {
		q.clock.Remove(w)
	}
}

// silence takes w off the clock: its budget does not matter any more.
func (q *queue) silence(w *waiter) { q.clock.Remove(w) }

func (q *queue) remove(w *waiter) {
	q.line.Remove(w.place)
	w.place = nil
	q.silence(w)
}

// first is the waiter whose budget changes first, nil when none ever does.
func (q *queue) first() *waiter { return q.clock.First() }

// due is when that is, the zero time for never.
func (q *queue) due() time.Time { return q.clock.Due() }

// each calls do for every waiter in order; do may remove the one it is given.
func (q *queue) each(do func(*waiter)) {
	for e := q.line.Front(); e != nil; {
		next := e.Next()
		do(e.Value.(*waiter))
		e = next
	}
}
