package leasetest

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

func traits(s *suite) {
	require.Equal(s, s.Traits(), s.Traits(), "the answer never changes")
}

func acquireFree(s *suite) {
	key := newKey()
	require.False(s, s.held(key))
	value := lease.NewValue("node-1")
	at := s.try(lease.Acquisition{Key: key, Value: value, Fence: true})
	require.True(s, at.Acquired)
	require.Empty(s, at.Holder)
	require.True(s, s.held(key))

	s.drop(key, value)
	require.False(s, s.held(key))
	s.take(key, long)
}

func acquireHeld(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	at := s.try(lease.Acquisition{Key: key, Value: lease.NewValue("other"), TTL: 2 * long, Fence: true})
	require.False(s, at.Acquired)
	require.Equal(s, "leasetest", at.Holder)
	if s.Traits().Expiry {
		s.within(long, at.TTL)
		s.within(long, s.state(key).TTL)
	}
	require.NoError(s, s.extend(lease.Extension{Key: key, Value: value, TTL: long})[0], "still ours")
}

func acquireOwnValue(s *suite) {
	key := newKey()
	value, token := s.take(key, long)
	for range 3 {
		at := s.try(lease.Acquisition{Key: key, Value: value, Fence: true})
		require.True(s, at.Acquired, "a lost reply is made good by the next attempt")
		require.Equal(s, token, at.Token, "the token that was minted first")
	}
	s.drop(key, value)
	require.False(s, s.held(key), "acquired again and again, released once")
}

// An attempt that is repeated sets the full TTL, and one that comes late takes
// nothing from a later one that asked for more.
func acquireOwnValueSetsTTL(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	for _, ttl := range []time.Duration{3 * long, 2 * long, long} {
		require.True(s, s.try(lease.Acquisition{Key: key, Value: value, TTL: ttl}).Acquired)
		s.within(3*long, s.state(key).TTL)
		require.Greater(s, s.state(key).TTL, 2*long)
	}
}

func acquireHolder(s *suite) {
	for value, holder := range map[string]string{
		"node/1":                             "node",
		"host/42/9f86":                       "host/42",
		"no-slash":                           "",
		"/random":                            "",
		"a b\x00\xff\r\n/random":             "a b\x00\xff\r\n",
		strings.Repeat("n", 300) + "/random": strings.Repeat("n", 256),
	} {
		key := newKey()
		require.True(s, s.try(lease.Acquisition{Key: key, Value: value}).Acquired)
		require.Equal(s, holder, s.try(lease.Acquisition{Key: key, Value: "x/y"}).Holder, "%q", value)
		require.Equal(s, holder, s.state(key).Holder, "%q", value)
		s.drop(key, value)
	}
}

func acquireBadTTL(s *suite) {
	key, own := newKey(), newKey()
	value, _ := s.take(own, long)
	for _, ttl := range []time.Duration{0, -1, -time.Hour, 1, time.Millisecond - 1} {
		_, err := s.Acquire(s.ctx, lease.Acquisition{Key: key, Value: "a/b", TTL: ttl})
		s.refused(err)
		_, err = s.Acquire(s.ctx, lease.Acquisition{Key: own, Value: value, TTL: ttl})
		s.refused(err)
	}
	require.False(s, s.held(key))
	s.within(long, s.state(own).TTL)
}

func acquireAfterExpiry(s *suite) {
	key := newKey()
	sent := time.Now()
	old, _ := s.take(key, short)
	next := lease.NewValue("next")
	s.eventually(func() bool {
		at := s.try(lease.Acquisition{Key: key, Value: next})
		if !at.Acquired {
			require.LessOrEqual(s, at.TTL, short)
			require.GreaterOrEqual(s, at.TTL, time.Duration(0))
		}
		return at.Acquired
	}, "the key expires")
	require.GreaterOrEqual(s, time.Since(sent), short-slack, "expired early")

	require.ErrorIs(s, s.extend(lease.Extension{Key: key, Value: old, TTL: long})[0], lease.ErrLeaseTaken)
	require.ErrorIs(s, s.release(lease.Release{Key: key, Value: old})[0], lease.ErrLeaseTaken)
	require.Equal(s, "next", s.state(key).Holder)
}

// The store grants whole milliseconds, and no more than was asked for.
func acquireWholeMillis(s *suite) {
	key := newKey()
	s.take(key, long+time.Millisecond-1)
	s.within(long, s.state(key).TTL)

	brief := newKey()
	at, err := s.Acquire(s.ctx, lease.Acquisition{Key: brief, Value: lease.NewValue("leasetest"), TTL: time.Millisecond})
	// A store that takes more than one command may find it gone already.
	require.True(s, at.Acquired || lease.IsLoss(err), "%v", err)
	s.eventually(func() bool { return !s.held(brief) }, "a lease of 1 ms ends")
}

// keys runs the whole life of a lease on keys of every shape.
func keys(s *suite) {
	for _, shape := range []string{
		"plain", "{a}b", "a{b", "a}b", "{}x", "}{", "{", "}", "{{a}}", "{a}{b}", "a b", "a\nb\r\n",
		"\x00", "\xff\xfe", "é€", "a:b", "*", "[a-z]?", `\"'`, strings.Repeat("k", 10<<10),
	} {
		// The random part comes last in one and first in the other, so that
		// every shape stands at either end.
		for _, key := range []string{shape + lease.NewID(), lease.NewID() + shape} {
			value, token := s.take(key, long)
			require.True(s, s.held(key), "%q", key)
			require.False(s, s.try(lease.Acquisition{Key: key, Value: "x/y", Origin: "x", Mark: long}).Acquired)
			waiting, err := s.Contended(s.ctx, key, "leasetest")
			require.NoError(s, err)
			require.True(s, waiting, "%q", key)
			require.NoError(s, s.extend(lease.Extension{Key: key, Value: value, TTL: long})[0], "%q", key)
			if s.Traits().Fencing {
				first, err := s.Reserve(s.ctx, lease.Reservation{Key: key, Value: value, Tokens: 2})
				require.NoError(s, err)
				require.Greater(s, first, token, "%q", key)
			}
			s.drop(key, value)
			require.False(s, s.held(key), "%q", key)
		}
	}
	// Keys that differ in braces only are different keys.
	id := lease.NewID()
	for _, key := range []string{id, "{" + id + "}", "{" + id, id + "}", "{}" + id} {
		s.take(key, long)
	}
}

func emptyKey(s *suite) {
	_, err := s.Acquire(s.ctx, lease.Acquisition{Value: "a/b", TTL: long})
	s.refused(err)
	s.refused(s.extend(lease.Extension{Value: "a/b", TTL: long})[0])
	s.refused(s.release(lease.Release{Value: "a/b"})[0])
	_, err = s.Contended(s.ctx, "", "a")
	s.refused(err)
	_, err = s.Inspect(s.ctx, "")
	s.refused(err)
	if s.Traits().Fencing {
		_, err = s.Reserve(s.ctx, lease.Reservation{Value: "a/b", Tokens: 1})
		s.refused(err)
	}
}

// A context that is done beforehand refuses every command, and nothing is done.
func doneContext(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	free, own := newKey(), newKey()
	value, _ := s.take(own, long)
	done := func(err error) {
		s.Helper()
		require.ErrorIs(s, err, context.Canceled)
		var e *lease.StoreError
		require.ErrorAs(s, err, &e)
		require.NotEmpty(s, e.Op)
		require.Equal(s, lease.NotExecuted, e.Kind)
	}
	_, err := s.Acquire(ctx, lease.Acquisition{Key: free, Value: "a/b", TTL: long})
	done(err)
	done(verdicts(s.T, 1, func(report func(int, error)) {
		s.Extend(ctx, []lease.Extension{{Key: own, Value: value, TTL: 3 * long}}, report)
	})[0])
	for _, certain := range []bool{true, false} {
		done(verdicts(s.T, 1, func(report func(int, error)) {
			s.Release(ctx, []lease.Release{{Key: own, Value: value, Certain: certain}}, report)
		})[0])
	}
	_, err = s.Contended(ctx, own, "a")
	done(err)
	_, err = s.Inspect(ctx, own)
	done(err)
	if s.Traits().Fencing {
		_, err = s.Reserve(ctx, lease.Reservation{Key: own, Value: value, Tokens: 1, TTL: 3 * long})
		done(err)
	}
	require.False(s, s.held(free))
	require.True(s, s.held(own))
	if s.Traits().Expiry {
		s.within(long, s.state(own).TTL)
	}
}

func inspect(s *suite) {
	key := newKey()
	require.False(s, s.held(key))
	require.True(s, s.try(lease.Acquisition{Key: key, Value: "node/7/x"}).Acquired)
	for range 3 {
		st := s.state(key)
		require.True(s, st.Held)
		require.Equal(s, "node/7", st.Holder)
		if s.Traits().Expiry {
			s.within(long, st.TTL)
		}
	}
	s.drop(key, "node/7/x")
	require.False(s, s.held(key))
}
