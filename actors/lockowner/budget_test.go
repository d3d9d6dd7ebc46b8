package lockowner

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

// contract 2.2
func TestBudgetOfTheDefaults(t *testing.T) {
	start := time.Now()
	b := newBudget(start, Ask{Attempts: 10, Delay: 200 * time.Millisecond})
	require.False(t, b.spent())
	require.Equal(t, start, b.next(), "the first attempt at once")
	for i := range 11 {
		require.Equal(t, i, b.made)
		now := b.next()
		require.Equal(t, time.Duration(i)*200*time.Millisecond, now.Sub(start))
		require.False(t, b.count(now.Add(-1), 0), "not before it is due")
		require.True(t, b.count(now, 0))
		require.False(t, b.count(now, 0), "once")
	}
	require.True(t, b.spent())
	require.True(t, b.next().IsZero())
	require.False(t, b.count(start.Add(time.Hour), 0))
	require.Equal(t, 11, b.made)
}

// contract 2.2
func TestBudgetCountsAllThatIsDue(t *testing.T) {
	start := time.Now()
	delay := 200 * time.Millisecond
	for _, c := range []struct {
		after    time.Duration
		attempts int
		made     int
		next     time.Duration // zero: spent
	}{
		{0, 10, 1, delay},
		{delay - 1, 10, 1, delay},
		{delay, 10, 2, 2 * delay},
		{5*delay + 1, 10, 6, 6 * delay},
		{10 * delay, 10, 11, 0},
		{time.Hour, 10, 11, 0},
		{time.Hour, Forever, 18001, time.Hour + delay},
		{0, 0, 1, 0},
		{math.MaxInt64, 3, 4, 0},
	} {
		b := newBudget(start, Ask{Attempts: c.attempts, Delay: delay})
		require.True(t, b.count(start.Add(c.after), 0))
		require.Equal(t, c.made, b.made, "%+v", c)
		if c.next == 0 {
			require.True(t, b.spent(), "%+v", c)
			continue
		}
		require.Equal(t, c.next, b.next().Sub(start), "%+v", c)
	}
}

// contract 2.2
func TestJitterOnlyShortens(t *testing.T) {
	for _, delay := range []time.Duration{-1, 0, 1, time.Millisecond, time.Millisecond + 1, 1100 * time.Microsecond, 2 * time.Millisecond, 200 * time.Millisecond, time.Hour, math.MaxInt64} {
		for _, jitter := range []float64{0, 1e-9, 0.5, 1 - 1e-9, math.Nextafter(1, 0)} {
			start := time.Now()
			b := newBudget(start, Ask{Attempts: Forever, Delay: delay})
			require.True(t, b.count(start, jitter))
			whole := min(max(delay, time.Millisecond), lease.MaxTTL)
			gap := b.next().Sub(start)
			require.LessOrEqual(t, gap, whole, "%v %v", delay, jitter)
			require.GreaterOrEqual(t, gap, max(whole-whole/10, time.Millisecond), "%v %v", delay, jitter)
		}
	}
}

func TestJitterIsInRange(t *testing.T) {
	seen := map[bool]int{}
	for range 1000 {
		j := jitter()
		require.GreaterOrEqual(t, j, 0.0)
		require.Less(t, j, 1.0)
		seen[j < 0.5]++
	}
	require.Len(t, seen, 2)
}

// Back-off that overflows to zero or below becomes a busy loop: walk through
// 10,000 attempts with extreme delays.
//
// contract 2.2
func TestCase_B070(t *testing.T) {
	for _, delay := range []time.Duration{math.MinInt64, -1, 0, 1, time.Millisecond - 1, time.Millisecond, time.Second, 24 * 365 * time.Hour, math.MaxInt64 - 1, math.MaxInt64} {
		for _, jitter := range []float64{0, 0.99} {
			start := time.Unix(1e9, 0)
			b := newBudget(start, Ask{Attempts: 9999, Delay: delay})
			low := max(min(max(delay, time.Millisecond), lease.MaxTTL)/10*9, time.Millisecond)
			high := min(max(delay, time.Millisecond), lease.MaxTTL)
			now, n := start, 0
			const centuries = math.MaxInt64 - lease.MaxTTL // all that a time.Duration can tell
			for !b.spent() && now.Sub(start) < centuries {
				if n++; !b.count(now, jitter) || b.made != n {
					t.Fatalf("attempt %d, delay %v: counted %d", n, delay, b.made)
				}
				next := b.next()
				if gap := next.Sub(now); !b.spent() && (gap < low || gap > high) {
					t.Fatalf("attempt %d, delay %v: the next one comes after %v", n, delay, gap)
				}
				now = next
			}
			require.True(t, n == 10000 || now.Sub(start) >= centuries)
		}
	}
}

// contract 2.4
func TestBudgetWithoutLimit(t *testing.T) {
	for _, attempts := range []int{Forever, math.MaxInt} {
		now := time.Now()
		b := newBudget(now, Ask{Attempts: attempts, Delay: time.Second})
		for range 10000 {
			if !b.count(now, 0.3) || b.spent() {
				t.Fatalf("spent after %d attempts", b.made)
			}
			now = b.next()
		}
		require.Equal(t, 10000, b.made)
		require.True(t, b.count(now.Add(math.MaxInt64), 0), "however long the process was stopped")
		require.False(t, b.spent())
		require.Greater(t, b.made, 10000)
	}
}

// contract 1.2
func TestBudgetOfTime(t *testing.T) {
	start := time.Now()
	b := newBudget(start, Ask{Attempts: Forever, Delay: time.Second, Wait: 2500 * time.Millisecond})
	for _, at := range []time.Duration{0, time.Second, 2 * time.Second} {
		require.Equal(t, at, b.next().Sub(start))
		require.False(t, b.over(b.next()))
		require.True(t, b.count(b.next(), 0))
	}
	require.Equal(t, 2500*time.Millisecond, b.next().Sub(start), "the end of the wait comes first")
	require.False(t, b.over(b.next().Add(-1)))
	require.True(t, b.over(b.next()))

	b = newBudget(start, Ask{Attempts: 0, Delay: time.Second, Wait: time.Hour})
	require.True(t, b.count(start, 0))
	require.Equal(t, time.Hour, b.next().Sub(start), "spent, but the wait is not over")

	b = newBudget(start, Ask{Attempts: Forever, Delay: time.Second})
	require.False(t, b.over(start.Add(math.MaxInt64)), "no bound")
	b = newBudget(start, Ask{Attempts: Forever, Delay: time.Second, Wait: math.MaxInt64})
	require.False(t, b.over(start.Add(time.Hour)), "a bound beyond all times")
}
