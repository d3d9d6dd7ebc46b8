package lockowner

import (
	"container/heap"
	"container/list"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// waiter is a call that waits: its place in the queue and its budget.
type waiter struct {
	*Acquire
	answered bool
	budget   budget
	sender   *actor.PID
	place    *list.Element // nil once it has left
	next     time.Time     // when its budget changes, zero for never
	index    int           // in the queue's clock, -1 outside

	granted  Granted // answers, here to be sent
	released Released
}

// from says whether the call was made by the actor pid.
func (w *waiter) from(pid *actor.PID) bool { return w.sender != nil && w.sender.Equal(pid) }

// queue keeps waiters in order of arrival, and knows whose budget changes first.
type queue struct {
	line  list.List
	clock clock
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
	w.index = -1
	w.place = q.line.PushBack(w)
	q.update(w)
}

// update puts w where its budget belongs on the clock.
func (q *queue) update(w *waiter) {
	w.next = w.budget.next()
	switch {
	case w.next.IsZero():
		q.unclock(w)
	case w.index < 0:
		heap.Push(&q.clock, w)
	default:
		heap.Fix(&q.clock, w.index)
	}
}

func (q *queue) unclock(w *waiter) {
	if w.index >= 0 {
		heap.Remove(&q.clock, w.index)
	}
}

func (q *queue) remove(w *waiter) {
	q.line.Remove(w.place)
	w.place = nil
	q.unclock(w)
}

// first is the waiter whose budget changes first, nil when none ever does.
func (q *queue) first() *waiter {
	if len(q.clock) == 0 {
		return nil
	}
	return q.clock[0]
}

// each calls do for every waiter in order; do may remove the one it is given.
func (q *queue) each(do func(*waiter)) {
	for e := q.line.Front(); e != nil; {
		next := e.Next()
		do(e.Value.(*waiter))
		e = next
	}
}

// clock is a heap of waiters by next.
type clock []*waiter

func (c clock) Len() int           { return len(c) }
func (c clock) Less(i, j int) bool { return c[i].next.Before(c[j].next) }
func (c clock) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].index, c[j].index = i, j
}

// Push implements heap.Interface.
func (c *clock) Push(x any) {
	w := x.(*waiter)
	w.index = len(*c)
	*c = append(*c, w)
}

// Pop implements heap.Interface.
func (c *clock) Pop() any {
	old := *c
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*c = old[:len(old)-1]
	w.index = -1
	return w
}
