package lease_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

// The margin of a second is 12 ms.
const believed = 988 * time.Millisecond

func TestTermNew(t *testing.T) {
	sent := time.Now()
	term := lease.NewTerm(sent, time.Second)
	assert.True(t, term.Deadline().Equal(sent.Add(believed)))
	assert.True(t, term.Confirmed().Equal(sent))
	assert.False(t, term.Over())
}

func TestTermConfirm(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name         string
		sent, now    time.Duration // after the start
		ttl          time.Duration
		ok           bool
		deadline     time.Duration
		confirmation time.Duration
	}{
		{"moves on", 333 * ms, 340 * ms, time.Second, true, 333*ms + believed, 333 * ms},
		{"just in time", 980 * ms, believed - 1, time.Second, true, 980*ms + believed, 980 * ms},
		{"at the deadline", 333 * ms, believed, time.Second, false, believed, 0},
		{"long after", 333 * ms, time.Hour, time.Second, false, believed, 0},
		{"older than the last", -ms, 10 * ms, time.Hour, true, believed, 0},
		{"shorter TTL", 100 * ms, 101 * ms, 100 * ms, true, 197 * ms, 100 * ms},
		{"TTL with a fraction of a millisecond", 100 * ms, 101 * ms, time.Second + 999999, true, 100*ms + believed, 100 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			term := lease.NewTerm(start, time.Second)
			assert.Equal(t, tt.ok, term.Confirm(start.Add(tt.sent), start.Add(tt.now), tt.ttl))
			assert.Equal(t, tt.deadline, term.Deadline().Sub(start))
			assert.Equal(t, tt.confirmation, term.Confirmed().Sub(start))
			assert.False(t, term.Over(), "Confirm never ends a term")
		})
	}
}

func TestTermExpired(t *testing.T) {
	start := time.Now()
	term := lease.NewTerm(start, time.Second)
	assert.False(t, term.Expired(start))
	assert.False(t, term.Expired(start.Add(believed-1)))
	assert.False(t, term.Over())

	assert.True(t, term.Expired(start.Add(believed)))
	assert.True(t, term.Over())
	assert.True(t, term.Deadline().IsZero())
	assert.True(t, term.Expired(start), "over for good, whatever the clock says")
	assert.False(t, term.Confirm(start, start, time.Hour))
	assert.True(t, term.Confirmed().Equal(start))
}

func TestTermEnd(t *testing.T) {
	start := time.Now()
	term := lease.NewTerm(start, time.Second)
	term.End()
	term.End()
	assert.True(t, term.Over())
	assert.True(t, term.Expired(start))
	assert.False(t, term.Confirm(start, start, time.Second))
	assert.True(t, term.Deadline().IsZero())
}

func TestTermRemaining(t *testing.T) {
	start := time.Now()
	term := lease.NewTerm(start, time.Second+time.Microsecond)
	assert.Equal(t, time.Second, term.Remaining(start), "without the margin")
	assert.Equal(t, -time.Second, term.Remaining(start.Add(2*time.Second)))

	sent := start.Add(300 * time.Millisecond)
	require.True(t, term.Confirm(sent, sent, 2*time.Second))
	assert.Equal(t, 2*time.Second, term.Remaining(sent))
	require.True(t, term.Confirm(start, sent, time.Hour), "an older one changes nothing")
	assert.Equal(t, 2*time.Second, term.Remaining(sent))
	term.End()
	assert.Equal(t, time.Second, term.Remaining(sent.Add(time.Second)), "the store's key outlives the term")
}

// Whoever has seen a term as expired must never see it alive again, however
// many confirmations race with that look.
func TestTermConfirmNeverRevives(t *testing.T) {
	for range 500 {
		start := time.Now()
		term := lease.NewTerm(start, time.Second)
		late := start.Add(believed)
		var expired atomic.Bool
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				sent := start.Add(time.Duration(i) * time.Millisecond)
				seen := expired.Load()
				if term.Confirm(sent, late.Add(-1), time.Second) && seen {
					t.Error("an expired term was confirmed")
				}
			})
			wg.Go(func() {
				if !term.Expired(late) {
					return // a confirmation came first
				}
				expired.Store(true)
				if !term.Over() || !term.Expired(start) || term.Confirm(late, start, time.Hour) {
					t.Error("an expired term came to life again")
				}
			})
		}
		wg.Wait()
		require.Equal(t, expired.Load(), term.Over())
	}
}

// Confirmations that race must leave the newest one standing.
func TestTermNewestConfirmationWins(t *testing.T) {
	const n = 8
	for range 2000 {
		start := time.Now()
		term := lease.NewTerm(start, time.Second)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				sent := start.Add(time.Duration(i+1) * time.Millisecond)
				assert.True(t, term.Confirm(sent, start, time.Second))
			})
		}
		wg.Wait()
		require.Equal(t, n*time.Millisecond, term.Confirmed().Sub(start))
		require.Equal(t, n*time.Millisecond+believed, term.Deadline().Sub(start))
	}
}

func TestTermEndRacesConfirm(t *testing.T) {
	for range 500 {
		start := time.Now()
		term := lease.NewTerm(start, time.Second)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { term.Confirm(start.Add(1), start, time.Second) })
		}
		wg.Go(term.End)
		wg.Wait()
		require.True(t, term.Over())
	}
}

// A command that granted less than was left is confirmed only within that time:
// when its reply comes late the store has given the key up already.
func TestTermConfirmShorter(t *testing.T) {
	base := time.Now()
	short := lease.DeadlineOf(base.Add(time.Second), time.Second)
	for now, want := range map[time.Time]bool{
		base.Add(time.Second): true, short.Add(-1): true, short: false, base.Add(5 * time.Second): false,
	} {
		term := lease.NewTerm(base, 10*time.Second)
		require.Equal(t, want, term.Confirm(base.Add(time.Second), now, time.Second))
		if want {
			require.Equal(t, short, term.Deadline())
		} else {
			require.Equal(t, lease.DeadlineOf(base, 10*time.Second), term.Deadline(), "nothing is changed")
		}
	}
}
