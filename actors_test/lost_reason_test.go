package actors_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 5.1: what loses a lock, the reason that is given, and how soon: the
// call returns at once, although the callback takes no notice, and its result
// is dropped.
func TestLostReasons(t *testing.T) {
	const ttl = 3 * time.Second
	deadline := ttl - lease.Margin(ttl)
	always := func(fault leasetest.Fault) func(*leasetest.Faulty, *memstore.Store) {
		return func(f *leasetest.Faulty, _ *memstore.Store) { f.On(leasetest.OpExtend, leasetest.Always(fault)) }
	}
	tests := map[string]struct {
		spoil  func(f *leasetest.Faulty, mem *memstore.Store)
		reason error
		after  time.Duration
	}{
		"gone":     {func(_ *leasetest.Faulty, mem *memstore.Store) { mem.Delete("k") }, actorlock.ErrLeaseGone, ttl / 3},
		"taken":    {func(_ *leasetest.Faulty, mem *memstore.Store) { mem.Steal("k", "x", ttl) }, actorlock.ErrLeaseTaken, ttl / 3},
		"an error": {always(leasetest.Fault{Err: io.EOF}), io.EOF, ttl / 3},
		"an error, not executed": {
			always(leasetest.Fault{Err: io.EOF, Kind: lease.NotExecuted}), io.EOF, ttl / 3,
		},
		"a panic of the client": {always(leasetest.Fault{Panic: "ouch"}), nil, ttl / 3},
		"hung":                  {always(leasetest.Fault{Hang: true}), actorlock.ErrLeaseExpired, deadline},
		"slow":                  {always(leasetest.Fault{After: time.Hour}), actorlock.ErrLeaseExpired, deadline},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
				m := newManager(t, f, actorlock.TTL(ttl))
				begin := time.Now()
				h := holding(t, t.Context(), m, "k")
				tt.spoil(f, mem)
				value, err := h.outcome()
				took := time.Since(begin)
				require.GreaterOrEqual(t, took, tt.after-ttl/8)
				require.LessOrEqual(t, took, tt.after+about)
				require.Zero(t, value)
				var e *actorlock.LockLostError
				require.ErrorAs(t, err, &e)
				require.Equal(t, "k", e.Key)
				require.NoError(t, e.Callback)
				if tt.reason != nil {
					require.ErrorIs(t, err, tt.reason)
				}
				require.Error(t, h.ctx.Err())
				require.Equal(t, err, context.Cause(h.ctx))
				h.settle(7, errMine)
				time.Sleep(time.Second)
				_, err = h.outcome()
				require.NotErrorIs(t, err, errMine)
				f.On(leasetest.OpExtend, nil)
			})
		})
	}
}

// contract 5.1, in Redis: deleted and stolen.
func TestLostInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	m := redisManager(t, srv, actorlock.TTL(300*time.Millisecond))
	for _, reason := range []error{actorlock.ErrLeaseGone, actorlock.ErrLeaseTaken} {
		h := holding(t, t.Context(), m, "k")
		if reason == actorlock.ErrLeaseGone {
			require.NoError(t, other.Del(t.Context(), "k").Err())
		} else {
			require.NoError(t, other.Set(t.Context(), "k", "foreign", 0).Err())
		}
		_, err := h.outcome()
		require.ErrorIs(t, err, reason)
		h.settle(0, nil)
	}
	require.Equal(t, "foreign", other.Get(t.Context(), "k").Val())
}

// contract 5.2: RetryUntilDeadline keeps a lock through errors, of every kind,
// while the deadline lasts, with back-off.
func TestLostNotUntilTheDeadline(t *testing.T) {
	const ttl = 3 * time.Second
	for _, fault := range []leasetest.Fault{
		{Err: io.EOF},
		{Err: io.EOF, Kind: lease.NotExecuted},
		{Err: io.EOF, Kind: lease.Permanent},
		{Err: io.EOF, Executed: true},
		{Panic: "ouch"},
		{Hang: true},
	} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
			m := newManager(t, f, actorlock.TTL(ttl), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
			h := holding(t, t.Context(), m, "k")
			for range 5 { // outages of less than the deadline allows
				f.On(leasetest.OpExtend, leasetest.Always(fault))
				time.Sleep(ttl / 2)
				f.On(leasetest.OpExtend, nil)
				time.Sleep(ttl)
				require.NoError(t, h.ctx.Err(), "%+v", fault)
			}
			require.GreaterOrEqual(t, peek(t, f, "k").TTL, ttl/2)
			f.On(leasetest.OpExtend, leasetest.Always(fault))
			begin, calls := time.Now(), f.Calls(leasetest.OpExtend)
			if _, err := h.outcome(); !fault.Executed {
				require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
			}
			took, calls := time.Since(begin), f.Calls(leasetest.OpExtend)-calls
			require.LessOrEqual(t, took, ttl)
			require.Greater(t, took, ttl/2)
			require.LessOrEqual(t, calls, 20, "with back-off")
			require.Greater(t, calls, 1)
			f.On(leasetest.OpExtend, nil)
		})
	}
}

// contract 5.2: the default is that the first failed extension loses the lock;
// the policy is that of the holder, also after a hand-over.
func TestLostByThePolicyOfTheHolder(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(3*time.Second))
		f.On(leasetest.OpExtend, leasetest.Times(1, leasetest.Fault{Err: io.EOF}))
		h := holding(t, t.Context(), m, "k", actorlock.OnRedisError(actorlock.RetryUntilDeadline))
		next := queueUp(t, t.Context(), m, "k", actorlock.RetryAttempts(forever))
		time.Sleep(4 * time.Second)
		h.release()
		next.granted()
		f.On(leasetest.OpExtend, leasetest.Times(1, leasetest.Fault{Err: io.EOF}))
		_, err := next.outcome()
		require.ErrorIs(t, err, io.EOF)
	})
}

// contract 5.2: with RetryUntilDeadline too a lock that is gone or taken is lost
// at once; another type at the key is taken.
func TestLostAtOnceWhateverThePolicy(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	const ttl = 3 * time.Second
	m := redisManager(t, srv, actorlock.TTL(ttl), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	begin := time.Now()
	gone, list := holding(t, t.Context(), m, "gone"), holding(t, t.Context(), m, "list")
	require.NoError(t, other.Del(t.Context(), "gone", "list").Err())
	require.NoError(t, other.RPush(t.Context(), "list", "x").Err())
	_, err := gone.outcome()
	require.ErrorIs(t, err, actorlock.ErrLeaseGone)
	_, err = list.outcome()
	require.ErrorIs(t, err, actorlock.ErrLeaseTaken)
	require.Less(t, time.Since(begin), ttl*2/3)
	list.settle(0, nil)
	gone.settle(0, nil)
	require.EqualValues(t, 1, other.LLen(t.Context(), "list").Val())
}
