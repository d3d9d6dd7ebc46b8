package renewer

import (
	"container/heap"
	"time"
)

// schedule is a heap of renewals, the one that needs something first on top.
type schedule []*Renewal

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].next.Before(s[j].next) }
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	r := x.(*Renewal)
	r.index = len(*s)
	*s = append(*s, r)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	old := *s
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	r.index = -1
	return r
}

// set moves r to its place for next, or puts it in.
func (s *schedule) set(r *Renewal, next time.Time) {
	r.next = next
	if r.index < 0 {
		heap.Push(s, r)
		return
	}
	heap.Fix(s, r.index)
}

// remove takes r out, if it is in.
func (s *schedule) remove(r *Renewal) bool {
	if r.index < 0 || r.index >= len(*s) || (*s)[r.index] != r {
		return false
	}
	heap.Remove(s, r.index)
	return true
}

// first is when something is needed, the zero time for never.
func (s schedule) first() time.Time {
	if len(s) == 0 {
		return time.Time{}
	}
	return s[0].next
}

// early is how long before it is due a lease may be extended together with
// others: enough to gather most of a node's leases into a few batches.
func early(ttl time.Duration) time.Duration { return ttl / 12 }

// patience is how long an extension may stay unanswered before another one is
// sent, with the time that is left until the deadline: the nearer that is, the
// sooner, so that a store that is back in time finds one.
func patience(ttl, left time.Duration) time.Duration {
	return max(min(ttl/4, left/2), ttl/16, time.Millisecond)
}

// backOff is the pause before a failed extension is tried again: from a 64th
// of the TTL, doubled with each failure, to an eighth, and at least 1 ms.
func backOff(ttl time.Duration, failures int) time.Duration {
	return max(ttl/64<<min(max(failures-1, 0), 3), time.Millisecond)
}
