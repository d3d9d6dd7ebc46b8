package renewer

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

func TestTimes(t *testing.T) {
	for _, tt := range []struct {
		ttl, early, patience, first, last time.Duration
	}{
		{time.Millisecond, time.Millisecond / 12, time.Millisecond, time.Millisecond, time.Millisecond},
		{96 * time.Millisecond, 8 * time.Millisecond, 24 * time.Millisecond, 1500 * time.Microsecond, 12 * time.Millisecond},
		{30 * time.Second, 2500 * time.Millisecond, 7500 * time.Millisecond, 468750 * time.Microsecond, 3750 * time.Millisecond},
	} {
		require.Equal(t, tt.early, early(tt.ttl))
		require.Equal(t, tt.patience, patience(tt.ttl, tt.ttl))
		for left := tt.ttl; left > 0; left -= tt.ttl / 50 {
			wait := patience(tt.ttl, left)
			require.LessOrEqual(t, wait, tt.patience)
			require.GreaterOrEqual(t, wait, max(tt.ttl/16, time.Millisecond), "contract 5.2: with back-off")
			if left > tt.ttl/8 && tt.ttl > 16*time.Millisecond {
				require.LessOrEqual(t, wait, left/2, "there is time for another one")
			}
		}
		require.Equal(t, tt.first, backOff(tt.ttl, 1))
		require.Equal(t, tt.last, backOff(tt.ttl, 1<<40))
		last := time.Duration(0)
		for n := range 10 {
			pause := backOff(tt.ttl, n)
			require.GreaterOrEqual(t, pause, last)
			require.GreaterOrEqual(t, pause, time.Millisecond)
			last = pause
		}
	}
	for ttl := time.Millisecond; ttl <= lease.MaxTTL; ttl = ttl*2 + 1 {
		// contract 3.1: an extension as early as that still keeps its distance.
		require.Less(t, ttl/3-early(ttl)+ttl/4, ttl)
		require.LessOrEqual(t, backOff(ttl, 100), max(ttl/8, time.Millisecond))
	}
}

// Halt and begin announce themselves before they look at each other: an
// extension that begins after a quiet Halt does not exist.
func TestHaltRacesWithBegin(t *testing.T) {
	for range 3000 {
		r := &Renewal{Term: lease.NewTerm(time.Now(), time.Minute)}
		var quiet, began bool
		var wg sync.WaitGroup
		wg.Go(func() { quiet = r.Halt() })
		wg.Go(func() { began = r.begin() })
		wg.Wait()
		require.False(t, quiet && began)
		require.True(t, r.Halted())
		require.False(t, r.begin(), "for good")
	}
}

func TestHaltKnowsOfUnsettledExtensions(t *testing.T) {
	for _, tt := range []struct {
		err   error
		quiet bool
	}{
		{nil, true},
		{lease.ErrLeaseGone, true},
		{&lease.StoreError{Err: lease.ErrLeaseTaken}, true},
		{lease.ErrNoReply, false},
	} {
		r := &Renewal{Term: lease.NewTerm(time.Now(), time.Minute)}
		require.True(t, r.begin())
		r.settle(tt.err)
		require.Equal(t, tt.quiet, r.Halt(), "%v", tt.err)
	}
	over := &Renewal{Term: lease.NewTerm(time.Now(), time.Minute)}
	over.Term.End()
	require.False(t, over.begin())
	require.True(t, over.Halt())
}
