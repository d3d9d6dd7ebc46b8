package leasetest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

// many is the size of a batch that a store is likely to cut into parts.
const many = 700

// mixed makes a batch's keys and values: every third lease is ours, gone or
// taken by somebody else, with the verdicts to expect.
func mixed(s *suite, n int) (keys, values []string, want []error) {
	keys, values, want = make([]string, n), make([]string, n), make([]error, n)
	for i := range n {
		keys[i] = newKey()
		values[i] = lease.NewValue("mixed")
		switch i % 3 {
		case 0:
			values[i], _ = s.take(keys[i], long)
		case 1:
			want[i] = lease.ErrLeaseGone
		case 2:
			s.take(keys[i], long)
			want[i] = lease.ErrLeaseTaken
		}
	}
	return keys, values, want
}

func requireVerdicts(s *suite, want, got []error) {
	s.Helper()
	for i := range want {
		if want[i] == nil {
			require.NoError(s, got[i], "item %d", i)
		} else {
			require.ErrorIs(s, got[i], want[i], "item %d", i)
		}
	}
}

func extendVerdicts(s *suite) {
	require.Empty(s, s.extend())
	keys, values, want := mixed(s, many)
	batch := make([]lease.Extension, many)
	for i := range batch {
		batch[i] = lease.Extension{Key: keys[i], Value: values[i], TTL: long}
	}
	for range 2 {
		requireVerdicts(s, want, s.extend(batch...))
	}
	// The same lease twice is two verdicts.
	requireVerdicts(s, []error{nil, nil}, s.extend(batch[0], batch[0]))
	for i := range batch {
		require.Equal(s, i%3 != 1, s.held(keys[i]), "an extension creates and deletes no key")
	}
}

func extendSetsTTL(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	for _, ttl := range []time.Duration{4 * long, 2 * long, 3*long + time.Millisecond - 1, long} {
		require.NoError(s, s.extend(lease.Extension{Key: key, Value: value, TTL: ttl})[0])
		s.within(lease.WholeMillis(ttl), s.state(key).TTL)
	}
	// And an extended lease ends as any other does.
	require.NoError(s, s.extend(lease.Extension{Key: key, Value: value, TTL: short})[0])
	s.eventually(func() bool { return !s.held(key) }, "the lease ends")
	require.ErrorIs(s, s.extend(lease.Extension{Key: key, Value: value, TTL: long})[0], lease.ErrLeaseGone)
	require.False(s, s.held(key), "an extension never creates a key")
}

func extendOnlyOurs(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	for _, other := range []string{"", "x/y", value + "x", value[:len(value)-1]} {
		require.ErrorIs(s, s.extend(lease.Extension{Key: key, Value: other, TTL: 5 * long})[0], lease.ErrLeaseTaken)
		s.within(long, s.state(key).TTL)
	}
}

func extendBadTTL(s *suite) {
	key, good := newKey(), newKey()
	value, _ := s.take(key, long)
	goodValue, _ := s.take(good, long)
	for _, ttl := range []time.Duration{0, -1, -time.Hour, 1, time.Millisecond - 1} {
		errs := s.extend(
			lease.Extension{Key: key, Value: value, TTL: ttl},
			lease.Extension{Key: good, Value: goodValue, TTL: long},
		)
		s.refused(errs[0])
		require.NoError(s, errs[1], "one bad item spoils no batch")
		s.within(long, s.state(key).TTL)
	}
}

func releaseVerdicts(s *suite) {
	require.Empty(s, s.release())
	for _, certain := range []bool{true, false} {
		keys, values, want := mixed(s, many)
		batch := make([]lease.Release, many)
		for i := range batch {
			batch[i] = lease.Release{Key: keys[i], Value: values[i], Origin: "o", Certain: certain}
		}
		requireVerdicts(s, want, s.release(batch...))
		for i := range batch {
			require.Equal(s, i%3 == 2, s.held(keys[i]))
			if want[i] == nil {
				want[i] = lease.ErrLeaseGone
			}
		}
		requireVerdicts(s, want, s.release(batch...))
	}
	// Certain and uncertain releases can share a batch.
	keys, values, want := mixed(s, 30)
	batch := make([]lease.Release, len(keys))
	for i := range batch {
		batch[i] = lease.Release{Key: keys[i], Value: values[i], Certain: i%2 == 0}
	}
	requireVerdicts(s, want, s.release(batch...))
}

func releaseOnlyOurs(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	for _, other := range []string{"", "x/y", value + "x", value[:len(value)-1]} {
		require.ErrorIs(s, s.release(lease.Release{Key: key, Value: other, Certain: true})[0], lease.ErrLeaseTaken)
		require.True(s, s.held(key))
	}
	s.drop(key, value)
}

// A bad item is refused, and the rest of its batch is done.
func batchBadItems(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	errs := s.extend(
		lease.Extension{Value: value, TTL: long},
		lease.Extension{Key: key, Value: value, TTL: long},
	)
	s.refused(errs[0])
	require.NoError(s, errs[1])

	errs = s.release(
		lease.Release{Key: key, Value: value},
		lease.Release{Value: value},
	)
	require.NoError(s, errs[0])
	s.refused(errs[1])
	require.False(s, s.held(key))

	// A batch whose context is done is reported in full, too.
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	batch := make([]lease.Extension, many)
	for i := range batch {
		batch[i] = lease.Extension{Key: newKey(), Value: value, TTL: long}
	}
	for _, err := range verdicts(s.T, many, func(report func(int, error)) { s.Extend(ctx, batch, report) }) {
		require.ErrorIs(s, err, context.Canceled)
	}
}
