// Package leasetest helps to test what deals with lease stores: Exercise is the
// conformance suite that every lease.Store must pass, and Faulty wraps a store
// to let its commands fail in all the ways in which a remote store's do.
package leasetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

const (
	// long outlives every subtest: a lease with it does not expire.
	long = time.Minute
	// short is a TTL or a mark whose end a subtest waits for.
	short = 150 * time.Millisecond
	// patience bounds every wait for something that is to happen.
	patience = 10 * time.Second
	// slack is what an expiry may be early by, for the rounding of a store that
	// keeps time in milliseconds.
	slack = 10 * time.Millisecond
	// nap is the pause between two looks at something that is awaited.
	nap = 3 * time.Millisecond
)

// Exercise holds a store to the lease.Store port, one subtest per promise. It
// calls open once per subtest; the stores may share their data, since every
// subtest uses random keys of its own, and open cleans up by t.Cleanup. What
// the store's Traits do not claim is not tested; a store that claims WakeUps is
// expected to name the origin of a release.
//
// It runs in real time, takes a few seconds and is meant to be run with the
// race detector, on a store that answers within a second or so.
func Exercise(t *testing.T, open func(t *testing.T) lease.Store) {
	always := func(lease.Traits) bool { return true }
	expiry := func(s lease.Traits) bool { return s.Expiry }
	fencing := func(s lease.Traits) bool { return s.Fencing }
	wakeUps := func(s lease.Traits) bool { return s.WakeUps }
	both := func(s lease.Traits) bool { return s.Expiry && s.Fencing }

	for _, c := range []struct {
		name    string
		applies func(lease.Traits) bool
		run     func(*suite)
	}{
		{"Traits", always, traits},
		{"AcquireFree", always, acquireFree},
		{"AcquireHeld", always, acquireHeld},
		{"AcquireOwnValue", always, acquireOwnValue},
		{"AcquireOwnValueSetsTTL", expiry, acquireOwnValueSetsTTL},
		{"AcquireHolder", always, acquireHolder},
		{"AcquireBadTTL", expiry, acquireBadTTL},
		{"AcquireAfterExpiry", expiry, acquireAfterExpiry},
		{"AcquireWholeMillis", expiry, acquireWholeMillis},
		{"Keys", always, keys},
		{"EmptyKey", always, emptyKey},
		{"DoneContext", always, doneContext},
		{"Inspect", always, inspect},
		{"ExtendVerdicts", always, extendVerdicts},
		{"ExtendSetsTTL", expiry, extendSetsTTL},
		{"ExtendOnlyOurs", expiry, extendOnlyOurs},
		{"ExtendBadTTL", expiry, extendBadTTL},
		{"ReleaseVerdicts", always, releaseVerdicts},
		{"ReleaseOnlyOurs", always, releaseOnlyOurs},
		{"BatchBadItems", always, batchBadItems},
		{"TokensRise", fencing, tokensRise},
		{"TokensOff", fencing, tokensOff},
		{"TokensAfterExpiry", both, tokensAfterExpiry},
		{"Reserve", fencing, reserve},
		{"ReserveGiveBack", fencing, reserveGiveBack},
		{"ReserveStaleGiveBack", fencing, reserveStaleGiveBack},
		{"ReserveExtends", both, reserveExtends},
		{"ReserveLost", fencing, reserveLost},
		{"ReserveBadTTL", both, reserveBadTTL},
		{"Marks", always, marks},
		{"MarksExpire", always, marksExpire},
		{"MarksOnlyWhenHeld", always, marksOnlyWhenHeld},
		{"WatchEffective", wakeUps, watchEffective},
		{"WatchRelease", wakeUps, watchRelease},
		{"WatchOnlyReleases", wakeUps, watchOnlyReleases},
		{"WatchStop", wakeUps, watchStop},
		{"WatchStopRace", wakeUps, watchStopRace},
		{"OneHolder", always, oneHolder},
		{"OneWinner", always, oneWinner},
		{"CutShort", always, cutShort},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			if c.applies(s.Traits()) {
				c.run(&suite{T: t, Store: s, ctx: t.Context()})
			}
		})
	}
}

// suite is what a subtest works with.
type suite struct {
	*testing.T
	lease.Store
	ctx context.Context
}

func newKey() string { return "leasetest:" + lease.NewID() }

// try makes one attempt that must not end with an error.
func (s *suite) try(a lease.Acquisition) lease.Attempt {
	s.Helper()
	if a.TTL == 0 {
		a.TTL = long
	}
	at, err := s.Acquire(s.ctx, a)
	require.NoError(s, err)
	if !at.Acquired {
		require.Zero(s, at.Token, "an attempt that found the key held got a token")
	}
	return at
}

// take acquires key, which must be free, and returns the value and the token.
func (s *suite) take(key string, ttl time.Duration) (value string, token uint64) {
	s.Helper()
	value = lease.NewValue("leasetest")
	at := s.try(lease.Acquisition{Key: key, Value: value, TTL: ttl, Fence: true})
	require.True(s, at.Acquired, "%q is held by %q", key, at.Holder)
	require.False(s, at.ForeignKey)
	if s.Traits().Fencing {
		require.NotZero(s, at.Token)
	}
	return value, at.Token
}

// held is whether key is held, by Inspect.
func (s *suite) held(key string) bool {
	s.Helper()
	return s.state(key).Held
}

func (s *suite) state(key string) lease.State {
	s.Helper()
	st, err := s.Inspect(s.ctx, key)
	require.NoError(s, err)
	if !st.Held {
		require.Equal(s, lease.State{}, st, "a free key has neither holder nor TTL")
	}
	return st
}

// extend and release run a batch and return its verdicts, each of which must
// come once and before the call returns.
func (s *suite) extend(batch ...lease.Extension) []error {
	s.Helper()
	return verdicts(s.T, len(batch), func(report func(int, error)) { s.Extend(s.ctx, batch, report) })
}

func (s *suite) release(batch ...lease.Release) []error {
	s.Helper()
	return verdicts(s.T, len(batch), func(report func(int, error)) { s.Release(s.ctx, batch, report) })
}

func (s *suite) drop(key, value string) {
	s.Helper()
	require.NoError(s, s.release(lease.Release{Key: key, Value: value, Origin: "drop"})[0])
}

func verdicts(t *testing.T, n int, run func(report func(int, error))) []error {
	t.Helper()
	var mu sync.Mutex
	errs := make([]error, n)
	times := make([]int, n)
	returned := false
	run(func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if returned || i < 0 || i >= n {
			t.Errorf("report(%d, %v) after the call returned: %v", i, err, returned)
			return
		}
		errs[i] = err
		times[i]++
	})
	mu.Lock()
	defer mu.Unlock()
	returned = true
	for i, k := range times {
		require.Equal(t, 1, k, "verdicts on item %d", i)
	}
	return errs
}

// within requires a remaining time of about ttl: never more, and not less by
// more than a slow machine explains.
func (s *suite) within(ttl, remaining time.Duration) {
	s.Helper()
	require.LessOrEqual(s, remaining, ttl)
	require.Greater(s, remaining, ttl-patience)
}

// eventually waits for cond with a deadline.
func (s *suite) eventually(cond func() bool, msg string) {
	s.Helper()
	tick := time.NewTicker(nap)
	defer tick.Stop()
	for end := time.Now().Add(patience); !cond(); <-tick.C {
		require.True(s, time.Now().Before(end), "in vain: %s", msg)
	}
}

// refused requires the refusal of a caller's value.
func (s *suite) refused(err error) {
	s.Helper()
	require.ErrorIs(s, err, lease.ErrInvalidConfig)
	var config *lease.ConfigError
	require.ErrorAs(s, err, &config)
	require.NotEmpty(s, config.Field)
}
