package leasetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

func tokensRise(s *suite) {
	key := newKey()
	last := uint64(0)
	for range 200 {
		value, token := s.take(key, long)
		require.Greater(s, token, last)
		last = token
		s.drop(key, value)
	}
}

// Without fencing the token is 0, and the holders around it still rise.
func tokensOff(s *suite) {
	key := newKey()
	value, before := s.take(key, long)
	s.drop(key, value)

	at := s.try(lease.Acquisition{Key: key, Value: value})
	require.True(s, at.Acquired)
	require.Zero(s, at.Token)
	s.drop(key, value)

	_, after := s.take(key, long)
	require.Greater(s, after, before)
}

func tokensAfterExpiry(s *suite) {
	key := newKey()
	_, before := s.take(key, short)
	s.eventually(func() bool { return !s.held(key) }, "the lease ends")
	_, after := s.take(key, long)
	require.Greater(s, after, before)
}

func reserve(s *suite) {
	key := newKey()
	value, last := s.take(key, long)
	for _, n := range []int{1, 2, 16, 100} {
		first, err := s.Reserve(s.ctx, lease.Reservation{Key: key, Value: value, Tokens: n})
		require.NoError(s, err)
		require.Greater(s, first, last, "the block lies above all that was handed out")
		last = first + uint64(n) - 1
	}
	if s.Traits().Expiry {
		s.within(long, s.state(key).TTL)
	}
	s.drop(key, value)
	_, token := s.take(key, long)
	require.Greater(s, token, last, "a block that is not given back is used up")
}

// A store may take its tokens from a clock, which soon passes a small block and
// hides what is wrong; a block of this size keeps ahead of microseconds for the
// few commands that follow.
const bigBlock = 1 << 18

func reserveGiveBack(s *suite) {
	key := newKey()
	last := uint64(0)
	for _, used := range []uint64{0, 1, bigBlock - 2, bigBlock - 1, bigBlock, 7} {
		value, token := s.take(key, long)
		require.Greater(s, token, last)
		first, err := s.Reserve(s.ctx, lease.Reservation{Key: key, Value: value, Tokens: bigBlock})
		require.NoError(s, err)
		require.Greater(s, first, token)
		last = token
		if used > 0 {
			last = first + used - 1
		}
		require.NoError(s, s.release(lease.Release{
			Key: key, Value: value, Certain: true, Used: last, Reserved: first + bigBlock - 1,
		})[0])
	}
	_, token := s.take(key, long)
	require.Greater(s, token, last)
}

// A block is taken back only while it is the newest.
func reserveStaleGiveBack(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	var first [2]uint64
	for i := range first {
		var err error
		first[i], err = s.Reserve(s.ctx, lease.Reservation{Key: key, Value: value, Tokens: bigBlock})
		require.NoError(s, err)
	}
	require.NoError(s, s.release(lease.Release{
		Key: key, Value: value, Certain: true, Used: first[0], Reserved: first[0] + bigBlock - 1,
	})[0])
	_, token := s.take(key, long)
	require.Greater(s, token, first[1]+bigBlock-1)
}

func reserveExtends(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	for _, ttl := range []time.Duration{3 * long, 2*long + time.Millisecond - 1} {
		_, err := s.Reserve(s.ctx, lease.Reservation{Key: key, Value: value, Tokens: 4, TTL: ttl})
		require.NoError(s, err)
		s.within(lease.WholeMillis(ttl), s.state(key).TTL)
	}
	_, err := s.Reserve(s.ctx, lease.Reservation{Key: key, Value: value, Tokens: 4})
	require.NoError(s, err)
	s.within(2*long, s.state(key).TTL)
	require.Greater(s, s.state(key).TTL, long, "without a TTL the expiry stays")
}

func reserveLost(s *suite) {
	key := newKey()
	old := lease.NewValue("old")
	_, err := s.Reserve(s.ctx, lease.Reservation{Key: key, Value: old, Tokens: 4, TTL: long})
	require.ErrorIs(s, err, lease.ErrLeaseGone)
	require.False(s, s.held(key), "a reservation creates no lease")

	value, token := s.take(key, long)
	_, err = s.Reserve(s.ctx, lease.Reservation{Key: key, Value: old, Tokens: 4, TTL: 5 * long})
	require.ErrorIs(s, err, lease.ErrLeaseTaken)
	if s.Traits().Expiry {
		s.within(long, s.state(key).TTL)
	}
	first, err := s.Reserve(s.ctx, lease.Reservation{Key: key, Value: value, Tokens: 4})
	require.NoError(s, err)
	require.Greater(s, first, token)

	// A block whose lease was lost meanwhile, given back late, leaves alone
	// what was minted for the next holder.
	s.drop(key, value)
	next, newest := s.take(key, long)
	require.Greater(s, newest, first+3)
	err = s.release(lease.Release{Key: key, Value: value, Used: first, Reserved: first + 3})[0]
	require.ErrorIs(s, err, lease.ErrLeaseTaken)
	s.drop(key, next)
	_, after := s.take(key, long)
	require.Greater(s, after, newest)
}

func reserveBadTTL(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	for _, ttl := range []time.Duration{-1, -time.Hour, 1, time.Millisecond - 1} {
		_, err := s.Reserve(s.ctx, lease.Reservation{Key: key, Value: value, Tokens: 4, TTL: ttl})
		s.refused(err)
		s.within(long, s.state(key).TTL)
	}
}
