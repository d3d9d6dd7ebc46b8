package lease

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Term is the validity of one lease as its node sees it: alive until a
// deadline that renewals move forward, then over for good. Moving and ending
// are one atomic step each, so a late renewal cannot revive a lease that
// somebody has already seen as expired. It is safe for concurrent use.
type Term struct {
	base      time.Time
	confirm   sync.Mutex   // one confirmation at a time: it moves two values
	deadline  atomic.Int64 // nanoseconds after base, or over
	confirmed atomic.Int64 // nanoseconds after base: send of the last confirmed command
	expiry    atomic.Int64 // nanoseconds after base: confirmed plus the TTL it granted
}

const over = math.MinInt64

// NewTerm starts a term that a command sent at sent has confirmed for ttl.
func NewTerm(sent time.Time, ttl time.Duration) *Term {
	t := new(Term)
	t.Begin(sent, ttl)
	return t
}

// Begin starts a zero term, like NewTerm. It comes before any other use.
func (t *Term) Begin(sent time.Time, ttl time.Duration) {
	t.base = sent
	t.deadline.Store(int64(DeadlineOf(sent, ttl).Sub(sent)))
	t.expiry.Store(int64(WholeMillis(ttl)))
}

// Confirm moves the deadline after a command that was sent at sent and granted
// ttl. It reports false, and changes nothing, when the term is over or its old
// deadline has passed by now, or the new one, which is the earlier of the two
// when a shorter ttl was granted. An older confirmation never undoes a newer one.
func (t *Term) Confirm(sent, now time.Time, ttl time.Duration) bool {
	next := int64(DeadlineOf(sent, ttl).Sub(t.base))
	t.confirm.Lock()
	defer t.confirm.Unlock()
	for {
		old := t.deadline.Load()
		if old == over || int64(now.Sub(t.base)) >= old {
			return false
		}
		at := int64(sent.Sub(t.base))
		if at < t.confirmed.Load() {
			return true
		}
		if int64(now.Sub(t.base)) >= next {
			return false
		}
		if t.deadline.CompareAndSwap(old, next) {
			t.confirmed.Store(at)
			t.expiry.Store(at + int64(WholeMillis(ttl)))
			return true
		}
	}
}

// Expired ends the term if its deadline has passed by now, and reports whether
// the term is over.
func (t *Term) Expired(now time.Time) bool {
	old := t.deadline.Load()
	for old != over && int64(now.Sub(t.base)) >= old {
		if t.deadline.CompareAndSwap(old, over) {
			return true
		}
		old = t.deadline.Load()
	}
	return old == over
}

// End ends the term now.
func (t *Term) End() { t.deadline.Store(over) }

// Over reports whether the term has ended. It does not look at the clock.
func (t *Term) Over() bool { return t.deadline.Load() == over }

// Deadline is the current deadline, or the zero time when the term is over.
func (t *Term) Deadline() time.Time {
	d := t.deadline.Load()
	if d == over {
		return time.Time{}
	}
	return t.base.Add(time.Duration(d))
}

// Confirmed is when the last confirmed command was sent.
func (t *Term) Confirmed() time.Time { return t.base.Add(time.Duration(t.confirmed.Load())) }

// Remaining is how long the store will keep the key at least, by what the last
// confirmed command granted. It does not look at whether the term is over.
func (t *Term) Remaining(now time.Time) time.Duration {
	return time.Duration(t.expiry.Load()) - now.Sub(t.base)
}
