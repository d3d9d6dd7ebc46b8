package lease_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/actorlock/actorlock/lease"
)

func TestWholeMillis(t *testing.T) {
	tests := map[time.Duration]time.Duration{
		0:                              0,
		1:                              0,
		999 * time.Microsecond:         0,
		time.Millisecond:               time.Millisecond,
		1999999 * time.Nanosecond:      time.Millisecond,
		30 * time.Second:               30 * time.Second,
		-time.Microsecond:              0,
		-1500 * time.Microsecond:       -time.Millisecond,
		lease.MaxTTL + time.Nanosecond: lease.MaxTTL,
	}
	for d, want := range tests {
		assert.Equal(t, want, lease.WholeMillis(d), "%v", d)
	}
}

func TestMargin(t *testing.T) {
	tests := map[time.Duration]time.Duration{
		0:                      0,
		time.Millisecond:       100 * time.Microsecond,
		10 * time.Millisecond:  time.Millisecond,
		20 * time.Millisecond:  2 * time.Millisecond,
		100 * time.Millisecond: 3 * time.Millisecond,
		time.Second:            12 * time.Millisecond,
		30 * time.Second:       302 * time.Millisecond,
		time.Hour:              36*time.Second + 2*time.Millisecond,
	}
	for ttl, want := range tests {
		assert.Equal(t, want, lease.Margin(ttl), "%v", ttl)
	}
}

func TestMarginBounds(t *testing.T) {
	last := time.Duration(0)
	for ttl := time.Millisecond; ttl <= lease.MaxTTL; ttl += ttl/3 + 1 {
		m := lease.Margin(ttl)
		assert.LessOrEqual(t, m, ttl/10, "%v", ttl)
		assert.LessOrEqual(t, m, ttl/100+2*time.Millisecond, "%v", ttl)
		assert.GreaterOrEqual(t, m, last, "a longer lease has no smaller margin: %v", ttl)
		assert.Positive(t, ttl-m, "%v", ttl)
		last = m
	}
}

func TestDeadlineOf(t *testing.T) {
	tests := map[time.Duration]time.Duration{
		time.Millisecond:                       900 * time.Microsecond,
		1999 * time.Microsecond:                900 * time.Microsecond,
		100 * time.Millisecond:                 97 * time.Millisecond,
		time.Second:                            988 * time.Millisecond,
		time.Second + 999*time.Microsecond:     988 * time.Millisecond,
		30 * time.Second:                       29698 * time.Millisecond,
		500*time.Millisecond + time.Nanosecond: 493 * time.Millisecond,
	}
	sent := time.Now()
	for ttl, want := range tests {
		assert.Equal(t, want, lease.DeadlineOf(sent, ttl).Sub(sent), "%v", ttl)
	}
	assert.True(t, lease.DeadlineOf(sent, lease.MaxTTL).After(sent.AddDate(90, 0, 0)))
}

func TestRenewalOf(t *testing.T) {
	tests := map[time.Duration]time.Duration{
		30 * time.Second: 10 * time.Second,
		time.Second:      333333333,
		time.Millisecond: 333333,
	}
	sent := time.Now()
	for ttl, want := range tests {
		assert.Equal(t, want, lease.RenewalOf(sent, ttl).Sub(sent), "%v", ttl)
	}
}

// A renewal that is due at a third of the TTL and takes up to another sixth
// keeps the key above half of its TTL, long before the deadline (from 100 ms).
func TestRenewalComesBeforeDeadline(t *testing.T) {
	sent := time.Now()
	for ttl := 100 * time.Millisecond; ttl <= 24*time.Hour; ttl += ttl/3 + time.Millisecond {
		due := lease.RenewalOf(sent, ttl)
		assert.GreaterOrEqual(t, lease.DeadlineOf(sent, ttl).Sub(due), ttl/2, "%v", ttl)
		assert.GreaterOrEqual(t, sent.Add(ttl).Sub(due.Add(ttl/6)), ttl/2, "%v", ttl)
	}
}

func TestPassable(t *testing.T) {
	const ttl = 10 * time.Second
	tests := []struct {
		remaining time.Duration
		want      bool
	}{
		{ttl, true},
		{ttl + 1, false},
		{ttl / 2, true},
		{ttl/2 - 1, false},
		{7 * time.Second, true},
		{0, false},
		{lease.NoExpiry, false},
		{math.MinInt64, false},
		{math.MaxInt64, false},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, lease.Passable(tt.remaining, ttl), "%v", tt.remaining)
	}
}
