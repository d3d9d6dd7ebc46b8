package lockowner

import (
	"math"
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
	due   time.Duration // after start: the next attempt
	until time.Duration // after start: the end of the wait, 0 for none
	delay time.Duration
	made  int
	limit int // attempts in all, negative for no limit
}

func newBudget(now time.Time, ask Ask) budget {
	b := budget{start: now, limit: -1}
	b.delay = min(max(ask.Delay, spacing), lease.MaxTTL)
	if ask.Attempts != Forever {
		b.limit = max(ask.Attempts, ask.Attempts+1) // MaxInt stays
	}
	b.until = min(max(ask.Wait, 0), lease.MaxTTL)
	return b
}

// count takes every attempt that is due by now and reports whether there was
// one. jitter in [0,1) shortens the next delay by up to a tenth.
func (b *budget) count(now time.Time, jitter float64) bool {
	late := now.Sub(b.start) - b.due
	if b.spent() || late < 0 {
		return false
	}
	// After a long pause of the process many are due at once.
	n := int(min(late/b.delay+1, 1<<40))
	if b.limit >= 0 {
		n = min(n, b.limit-b.made)
	}
	b.made += n
	short := min(time.Duration(jitter*float64(b.delay/10)), b.delay-spacing)
	if b.due += time.Duration(n)*b.delay - short; b.due < 0 {
		b.due = math.MaxInt64 // in 292 years
	}
	return true
}

// spent says that no attempt is left.
func (b *budget) spent() bool { return b.limit >= 0 && b.made >= b.limit }

// over says that the wait has ended.
func (b *budget) over(now time.Time) bool { return b.until > 0 && now.Sub(b.start) >= b.until }

// next is when the budget changes, the zero time for never.
func (b *budget) next() time.Time {
	switch {
	case b.until > 0 && (b.spent() || b.until < b.due):
		return b.start.Add(b.until)
	case b.spent():
		return time.Time{}
	}
	return b.start.Add(b.due)
}

func jitter() float64 { return rand.Float64() }
