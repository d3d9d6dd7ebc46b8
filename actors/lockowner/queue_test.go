package lockowner

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newWaiter(now time.Time, ask Ask) *waiter {
	w := &waiter{Acquire: &Acquire{Ask: ask}}
	w.budget = newBudget(now, ask)
	return w
}

func lined(q *queue) []*waiter {
	var all []*waiter
	q.each(func(w *waiter) { all = append(all, w) })
	return all
}

// contract 2.5
func TestQueueKeepsTheOrderOfArrival(t *testing.T) {
	now := time.Now()
	var q queue
	require.True(t, q.empty())
	require.Nil(t, q.head())
	require.Nil(t, q.first())
	var ws []*waiter
	for range 6 {
		w := newWaiter(now, Ask{Attempts: Forever, Delay: time.Second})
		ws = append(ws, w)
		q.push(w)
	}
	require.Equal(t, ws, lined(&q))
	q.remove(ws[0])
	q.remove(ws[3])
	q.remove(ws[5])
	require.Nil(t, ws[3].place)
	require.False(t, ws[3].Listed())
	require.Equal(t, []*waiter{ws[1], ws[2], ws[4]}, lined(&q))
	require.Equal(t, ws[1], q.head())
	require.Equal(t, 3, q.len())
	q.each(func(w *waiter) { q.remove(w) })
	require.True(t, q.empty())
	require.Nil(t, q.first())
}

// contract 2.5
func TestQueueKnowsWhoIsDueFirst(t *testing.T) {
	now := time.Now()
	var q queue
	slow := newWaiter(now, Ask{Attempts: Forever, Delay: time.Hour})
	fast := newWaiter(now, Ask{Attempts: Forever, Delay: time.Second})
	once := newWaiter(now, Ask{Attempts: 0, Delay: time.Second})
	for _, w := range []*waiter{slow, fast, once} {
		w.budget.count(now, 0)
		q.push(w)
	}
	require.Equal(t, fast, q.first())
	require.False(t, once.Listed(), "spent: nothing of it changes any more")
	require.Equal(t, 3, q.len(), "but it stays in the queue")
	for i := range 10 {
		require.Equal(t, fast, q.first())
		require.Equal(t, time.Duration(i+1)*time.Second, q.due().Sub(now))
		require.True(t, fast.budget.count(q.due(), 0))
		q.update(fast)
	}
	q.remove(fast)
	require.Equal(t, slow, q.first())
	q.remove(slow)
	require.Nil(t, q.first())
	require.Equal(t, once, q.head())
}

// contract 2.5
// Whatever is done to it, the queue agrees with a plain list.
func TestQueueAgainstAPlainList(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			now := time.Now()
			var q queue
			var list []*waiter
			for range 200 {
				switch n := random.IntN(3); {
				case n == 0 || len(list) == 0:
					w := newWaiter(now, Ask{Attempts: random.IntN(5) - 1, Delay: time.Duration(random.IntN(100)) * time.Millisecond})
					q.push(w)
					list = append(list, w)
				case n == 1:
					i := random.IntN(len(list))
					q.remove(list[i])
					list = slices.Delete(list, i, i+1)
				default:
					now = now.Add(time.Duration(random.IntN(50)) * time.Millisecond)
					for w := q.first(); w != nil && !q.due().After(now); w = q.first() {
						require.True(t, w.budget.count(now, random.Float64()))
						q.update(w)
					}
				}
				require.Equal(t, len(list), q.len())
				require.True(t, slices.Equal(list, lined(&q)))
				var earliest time.Time
				for _, w := range list {
					earliest = sooner(earliest, w.budget.next())
				}
				if earliest.IsZero() {
					require.Nil(t, q.first())
				} else {
					require.Equal(t, earliest, q.due())
				}
			}
		})
	}
}

// contract 2.5
func TestNextAttempt(t *testing.T) {
	sent := time.Now()
	const delay = 200 * time.Millisecond
	for name, c := range map[string]struct {
		waiters int
		a       acquisition
		want    time.Duration // after sent; negative: never
	}{
		"nothing is due":         {1, acquisition{}, -1},
		"due":                    {1, acquisition{owed: true, gap: delay}, 0},
		"due, of many":           {2, acquisition{owed: true, gap: delay, jitter: 0.5}, delay - delay/20},
		"due, no jitter":         {2, acquisition{owed: true, gap: delay}, delay},
		"hint":                   {1, acquisition{hinted: true}, spacing},
		"hint, of many":          {9, acquisition{hinted: true, owed: true, gap: delay}, spacing},
		"expiry":                 {1, acquisition{expires: sent.Add(time.Hour)}, time.Hour},
		"expiry before due":      {2, acquisition{owed: true, gap: delay, expires: sent.Add(time.Millisecond)}, time.Millisecond},
		"standing back":          {1, acquisition{owed: true, notBefore: sent.Add(time.Second)}, time.Second},
		"standing back, nothing": {1, acquisition{notBefore: sent.Add(time.Second)}, -1},
	} {
		o := &owner{activity: &activity{acquisition: c.a}}
		o.sent = sent
		for range c.waiters {
			o.queue.push(newWaiter(sent, Ask{Attempts: Forever, Delay: delay}))
		}
		at := o.nextAttempt()
		if c.want < 0 {
			require.True(t, at.IsZero(), name)
		} else {
			require.Equal(t, c.want, at.Sub(sent), name)
		}
	}
	// A caller's last due time comes nine tenths of the delay after an earlier
	// one at least, and must not pass by without an attempt.
	o := &owner{activity: &activity{acquisition: acquisition{owed: true, gap: delay, sent: sent}}}
	for range 2 {
		o.queue.push(newWaiter(sent, Ask{Delay: delay}))
	}
	o.spent = append(o.spent, o.queue.head())
	require.Equal(t, delay-delay/10, o.nextAttempt().Sub(sent))

	o = &owner{activity: &activity{acquisition: acquisition{owed: true, gap: delay}}}
	o.queue.push(newWaiter(sent, Ask{Delay: delay}))
	require.False(t, o.nextAttempt().IsZero(), "nothing was sent yet: at once")
	require.False(t, o.nextAttempt().After(time.Now()))
}

// contract 2.5
func TestOwedKeepsTheShortestDelay(t *testing.T) {
	now := time.Now()
	var a acquisition
	for _, delay := range []time.Duration{time.Second, time.Hour, 50 * time.Millisecond, time.Minute} {
		a.owe(newWaiter(now, Ask{Delay: delay}))
	}
	require.True(t, a.owed)
	require.Equal(t, 50*time.Millisecond, a.gap)
	a.owed = false // a command was sent
	a.owe(newWaiter(now, Ask{Delay: time.Minute}))
	require.Equal(t, time.Minute, a.gap)
}
