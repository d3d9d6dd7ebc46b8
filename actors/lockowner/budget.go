package lockowner

import (
	"math/rand/v2"
	"time"

	"github.com/actorlock/actorlock/lease"
)

// spacing is the least time between two due times, and between two wake-ups.
const spacing = time.Millisecond

// budget is what a call may still spend on waiting: attempts, each a due time,
// and time. It is a value; time comes in from outside.
type budget struct {
	start time.Time
	due   time.Time // of the next attempt
	until time.Time // end of the wait, zero for none
	delay time.Duration
	made  int
	limit int // attempts in all, negative for no limit
}

func newBudget(now time.Time, ask Ask) budget {
	b := budget{start: now, due: now, limit: -1}
	b.delay = min(max(ask.Delay, spacing), lease.MaxTTL)
	if ask.Attempts != Forever {
		b.limit = max(ask.Attempts, ask.Attempts+1) // MaxInt stays
	}
	if ask.Wait > 0 {
		b.until = now.Add(min(ask.Wait, lease.MaxTTL))
	}
	return b
}

// count takes every attempt that is due by now and reports whether there was
// one. jitter in [0,1) shortens the next delay by up to a tenth.
func (b *budget) count(now time.Time, jitter float64) bool {
	if b.spent() || b.due.After(now) {
		return false
	}
	// After a long pause of the process many are due at once.
	n := int(min(now.Sub(b.due)/b.delay+1, 1<<40))
	if b.limit >= 0 {
		n = min(n, b.limit-b.made)
	}
	b.made += n
	short := min(time.Duration(jitter*float64(b.delay/10)), b.delay-spacing)
	b.due = b.due.Add(time.Duration(n)*b.delay - short)
	return true
}

// spent says that no attempt is left.
func (b *budget) spent() bool { return b.limit >= 0 && b.made >= b.limit }

// over says that the wait has ended.
func (b *budget) over(now time.Time) bool { return !b.until.IsZero() && !now.Before(b.until) }

// next is when the budget changes, the zero time for never.
func (b *budget) next() time.Time {
	if b.spent() || (!b.until.IsZero() && b.until.Before(b.due)) {
		return b.until
	}
	return b.due
}

func jitter() float64 { return rand.Float64() }
