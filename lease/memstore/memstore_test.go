package memstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	leasetest.Exercise(t, func(*testing.T) lease.Store { return New() })
}

func TestConformanceShared(t *testing.T) {
	shared := New()
	leasetest.Exercise(t, func(*testing.T) lease.Store { return shared })
	require.Empty(t, shared.watches)
}

func take(t *testing.T, s *Store, key, value string, ttl time.Duration) lease.Attempt {
	t.Helper()
	at, err := s.Acquire(t.Context(), lease.Acquisition{Key: key, Value: value, TTL: ttl, Fence: true})
	require.NoError(t, err)
	return at
}

func extend(t *testing.T, s *Store, key, value string, ttl time.Duration) (verdict error) {
	s.Extend(t.Context(), []lease.Extension{{Key: key, Value: value, TTL: ttl}}, func(_ int, err error) { verdict = err })
	return verdict
}

func release(t *testing.T, s *Store, r lease.Release) (verdict error) {
	s.Release(t.Context(), []lease.Release{r}, func(_ int, err error) { verdict = err })
	return verdict
}

// pass lets d go by in a bubble; all that is due in it has run afterwards.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func TestExpiryIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		require.True(t, take(t, s, "k", "a/1", time.Second+999*time.Microsecond).Acquired)
		pass(t, time.Second-1)
		at := take(t, s, "k", "b/1", time.Second)
		require.Equal(t, lease.Attempt{Holder: "a", TTL: 1}, at)
		require.Equal(t, 1, s.Len())

		pass(t, 1)
		require.Zero(t, s.Len())
		require.ErrorIs(t, extend(t, s, "k", "a/1", time.Second), lease.ErrLeaseGone)
		require.ErrorIs(t, release(t, s, lease.Release{Key: "k", Value: "a/1"}), lease.ErrLeaseGone)
		_, err := s.Reserve(t.Context(), lease.Reservation{Key: "k", Value: "a/1", Tokens: 1})
		require.ErrorIs(t, err, lease.ErrLeaseGone)
		st, err := s.Inspect(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, lease.State{}, st)
		require.True(t, take(t, s, "k", "b/1", time.Second).Acquired)
	})
}

func TestExtendIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		take(t, s, "k", "a/1", time.Second)
		pass(t, time.Second-1)
		require.NoError(t, extend(t, s, "k", "a/1", 2*time.Second))
		pass(t, time.Second)
		_, err := s.Reserve(t.Context(), lease.Reservation{Key: "k", Value: "a/1", Tokens: 1})
		require.NoError(t, err)
		st, _ := s.Inspect(t.Context(), "k")
		require.Equal(t, lease.State{Held: true, Holder: "a", TTL: time.Second}, st)
		_, err = s.Reserve(t.Context(), lease.Reservation{Key: "k", Value: "a/1", Tokens: 1, TTL: 3 * time.Second})
		require.NoError(t, err)
		st, _ = s.Inspect(t.Context(), "k")
		require.Equal(t, 3*time.Second, st.TTL)
	})
}

func TestMarkExpiryIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		take(t, s, "k", "a/1", time.Minute)
		mark := func() {
			at, err := s.Acquire(t.Context(), lease.Acquisition{Key: "k", Value: "b/1", TTL: time.Second, Origin: "b", Mark: 400 * time.Millisecond})
			require.NoError(t, err)
			require.False(t, at.Acquired)
		}
		contended := func() bool {
			yes, err := s.Contended(t.Context(), "k", "a")
			require.NoError(t, err)
			return yes
		}
		mark()
		pass(t, 200*time.Millisecond)
		mark() // sets the full time again
		require.Len(t, s.table.find("k").marks, 1, "one mark for each origin")
		pass(t, 400*time.Millisecond-1)
		require.True(t, contended())
		require.NoError(t, release(t, s, lease.Release{Key: "k", Value: "a/1"}))
		require.True(t, contended(), "the mark outlives the lease")
		require.Zero(t, s.Len())
		pass(t, 1)
		require.False(t, contended())

		mark2 := take(t, s, "k", "b/1", time.Minute)
		require.True(t, mark2.Acquired)
		require.Len(t, s.table.entries, 1, "the entry was kept for the mark and used again")
	})
}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		now := uint64(time.Now().UnixMicro())
		require.Equal(t, now, take(t, s, "a", "n/1", time.Hour).Token, "from the clock")
		require.Equal(t, now+1, take(t, s, "b", "n/2", time.Hour).Token, "one counter for all keys")

		first, err := s.Reserve(t.Context(), lease.Reservation{Key: "b", Value: "n/2", Tokens: 16})
		require.NoError(t, err)
		require.Equal(t, now+2, first)
		require.NoError(t, release(t, s, lease.Release{Key: "b", Value: "n/2", Used: first + 1, Reserved: first + 15}))
		require.Equal(t, first+2, take(t, s, "b", "n/3", time.Hour).Token, "what was left is taken back")

		first, err = s.Reserve(t.Context(), lease.Reservation{Key: "b", Value: "n/3", Tokens: 16})
		require.NoError(t, err)
		require.Equal(t, first+16, take(t, s, "c", "n/4", time.Hour).Token)
		require.NoError(t, release(t, s, lease.Release{Key: "b", Value: "n/3", Used: first, Reserved: first + 15}))
		require.Equal(t, first+17, take(t, s, "b", "n/5", time.Hour).Token, "nothing is taken back below another's token")

		// A slip of the caller's hands no token out twice.
		last := first + 17
		first, err = s.Reserve(t.Context(), lease.Reservation{Key: "b", Value: "n/5", Tokens: 2})
		require.NoError(t, err)
		require.NoError(t, release(t, s, lease.Release{Key: "b", Value: "n/5", Used: last - 1, Reserved: first + 1}))
		require.Equal(t, first+2, take(t, s, "b", "n/6", time.Hour).Token)

		// Nothing is minted for a lease that is lost, or for a bad block.
		before := s.token
		_, err = s.Reserve(t.Context(), lease.Reservation{Key: "b", Value: "n/5", Tokens: 16})
		require.ErrorIs(t, err, lease.ErrLeaseTaken)
		for _, n := range []int{0, -1, maxBlock + 1} {
			_, err = s.Reserve(t.Context(), lease.Reservation{Key: "b", Value: "n/6", Tokens: n})
			require.ErrorIs(t, err, lease.ErrInvalidConfig)
		}
		require.Equal(t, before, s.token)

		pass(t, time.Second)
		require.Equal(t, uint64(time.Now().UnixMicro()), take(t, s, "d", "n/7", time.Hour).Token, "never behind the clock")
	})
}

func TestRefusals(t *testing.T) {
	s := New()
	_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "k", Value: "a/1", TTL: time.Microsecond})
	require.EqualError(t, err, "acquire: invalid configuration: TTL must be at least 1ms")
	require.Equal(t, lease.Permanent, lease.KindOf(err))
	_, err = s.Acquire(t.Context(), lease.Acquisition{Key: "k", Value: "a/1", TTL: lease.MaxTTL + 1})
	require.ErrorIs(t, err, lease.ErrInvalidConfig)
	require.True(t, take(t, s, "k", "a/1", lease.MaxTTL).Acquired)

	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = s.Acquire(ctx, lease.Acquisition{Key: "free", Value: "a/1", TTL: time.Second})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, cause)
	require.Equal(t, lease.NotExecuted, lease.KindOf(err))
	require.Equal(t, 1, s.Len())
}

func TestAdmin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		take(t, s, "k", "a/1", time.Minute)
		var woken int
		stop := s.Watch("k", func(string) { woken++ })
		synctest.Wait()

		s.Steal("k", "", 1500*time.Microsecond)
		require.ErrorIs(t, extend(t, s, "k", "a/1", time.Minute), lease.ErrLeaseTaken)
		require.Equal(t, lease.Attempt{TTL: time.Millisecond}, take(t, s, "k", "a/2", time.Minute))
		pass(t, time.Millisecond)
		require.Zero(t, s.Len())

		s.Steal("k", "thief", lease.NoExpiry)
		pass(t, 1000*time.Hour)
		require.Equal(t, lease.Attempt{TTL: lease.NoExpiry}, take(t, s, "k", "a/2", time.Minute))
		st, err := s.Inspect(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, lease.State{Held: true, TTL: lease.NoExpiry}, st)

		s.Delete("k")
		s.Delete("k")
		s.Delete("")
		s.Steal("", "thief", time.Hour)
		require.Zero(t, s.Len())
		require.ErrorIs(t, release(t, s, lease.Release{Key: "k", Value: "a/1"}), lease.ErrLeaseGone)
		require.Equal(t, 1, woken, "an administrator wakes nobody")
		stop()

		s.Steal("k", "a/3", time.Nanosecond)
		at := take(t, s, "k", "a/3", time.Minute)
		require.True(t, at.Acquired)
		require.NotZero(t, at.Token, "a key set without a token gets one")
	})
}

// Keys that expire and are never touched again go as others come.
func TestNothingAccumulates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		for i := range 20000 {
			key := fmt.Sprint("k", i)
			take(t, s, key, "a/1", time.Millisecond)
			_, err := s.Acquire(t.Context(), lease.Acquisition{Key: key, Value: "b/1", TTL: time.Second, Origin: "b", Mark: time.Millisecond})
			require.NoError(t, err)
			if i%10 == 9 {
				pass(t, time.Millisecond)
			}
			require.LessOrEqual(t, len(s.table.entries), 40)
			require.Len(t, s.table.index, len(s.table.entries))
		}
	})
}

func TestMemoryComesBack(t *testing.T) {
	s := New()
	const n = 20000
	for i := range n {
		take(t, s, fmt.Sprint("k", i), "a/1", time.Minute)
	}
	require.Equal(t, n, s.Len())
	for i := range n {
		require.NoError(t, release(t, s, lease.Release{Key: fmt.Sprint("k", i), Value: "a/1"}))
		if i == n/2 {
			require.Equal(t, "a", take(t, s, fmt.Sprint("k", n-1), "b/1", time.Minute).Holder)
		}
	}
	require.Zero(t, s.Len())
	require.Empty(t, s.table.index)
	require.LessOrEqual(t, cap(s.table.entries), smallTable)
}

// A cycle that meets nobody allocates nothing once the table has room.
func TestAllocations(t *testing.T) {
	s := New()
	ctx := t.Context()
	batch := []lease.Release{{Key: "k", Value: "a/1"}}
	report := func(int, error) {}
	allocs := testing.AllocsPerRun(100, func() {
		_, _ = s.Acquire(ctx, lease.Acquisition{Key: "k", Value: "a/1", TTL: time.Minute, Fence: true})
		s.Release(ctx, batch, report)
	})
	require.Zero(t, allocs)
}

func BenchmarkCycle(b *testing.B) {
	s := New()
	ctx := b.Context()
	batch := []lease.Release{{Key: "k", Value: "a/1"}}
	report := func(int, error) {}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Acquire(ctx, lease.Acquisition{Key: "k", Value: "a/1", TTL: time.Minute, Fence: true})
		s.Release(ctx, batch, report)
	}
}
