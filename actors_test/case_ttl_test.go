package actors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// A TTL below a second is neither cut to none nor made a permanent one.
//
// contract 1.2
// contract 2.1
func TestCase_B066(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	m := redisManager(t, srv)
	for _, ttl := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 600*time.Millisecond + 999*time.Microsecond} {
		require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			left := look.PTTL(ctx, "k").Val()
			require.Positive(t, left)
			require.LessOrEqual(t, left, ttl.Truncate(time.Millisecond))
			return nil
		}, actorlock.TTL(ttl), actorlock.OnRedisError(actorlock.RetryUntilDeadline)))
	}

	mon := srv.Monitor(t)
	for _, ttl := range []time.Duration{999 * time.Microsecond, 1, 0, -time.Second} {
		err := m.WithLock(t.Context(), "refused", never(t), actorlock.TTL(ttl))
		require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
		require.ErrorContains(t, err, "TTL")
	}
	require.Empty(t, mon.ClientLines())

	// With 1 ms a lock may well be over before its callback begins, or while it
	// runs; it is a millisecond's all the same.
	err := m.WithLock(t.Context(), "short", nothing, actorlock.TTL(time.Millisecond), actorlock.RetryAttempts(0))
	var lost *actorlock.LockLostError
	var late *actorlock.AcquireError
	if err != nil && !errors.As(err, &lost) {
		require.ErrorAs(t, err, &late)
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
	}
	require.Regexp(t, `"PX" "1"|"px" "1"`, mon.Lines())
	eventually(t, func() bool { return look.Exists(t.Context(), "short").Val() == 0 })
}

// An extension to zero or less is refused before anything is sent: to Redis it
// would be a deletion.
//
// contract 3.2
func TestCase_B068(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	store := redisStore(t, userClient(t, srv.Addr()))
	mem := memstore.New()
	for name, s := range map[string]lease.Store{"redis": store, "memory": mem} {
		require.NoError(t, newManager(t, s).WithLock(t.Context(), "k", func(ctx context.Context) error {
			value := "?"
			if name == "redis" {
				value = look.Get(ctx, "k").Val()
			}
			before := peek(t, s, "k")
			srv.ResetCalls(t)
			for _, ttl := range []time.Duration{0, -1, -time.Hour, time.Millisecond - 1} {
				told := 0
				s.Extend(ctx, []lease.Extension{{Key: "k", Value: value, TTL: ttl}}, func(_ int, err error) {
					told++
					require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
				})
				require.Equal(t, 1, told)
				if ttl != 0 { // which leaves the expiry alone here
					_, err := s.Reserve(ctx, lease.Reservation{Key: "k", Value: value, Tokens: 1, TTL: ttl})
					require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
				}
			}
			require.Zero(t, sent(srv.Calls(t)))
			after := peek(t, s, "k")
			require.True(t, after.Held)
			require.Greater(t, after.TTL, before.TTL-plenty)
			return nil
		}, actorlock.TTL(time.Minute)), name)
	}
}

// A unit is not mixed up anywhere: the key's time to live is what was asked
// for, by whatever way, after an acquire, a renewal and a hand-over.
//
// contract 3.1
// contract 4.4
func TestCase_B069(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	near := func(ttl, left time.Duration) {
		t.Helper()
		require.LessOrEqual(t, left, ttl)
		require.Greater(t, left, ttl-max(ttl/20, time.Second))
	}
	for _, ttl := range []time.Duration{2 * time.Second, time.Hour} {
		m := redisManager(t, srv, actorlock.TTL(ttl))
		check := func(ctx context.Context) error {
			near(ttl, look.PTTL(ctx, "k").Val())
			l, ok := actorlock.LeaseFrom(ctx)
			require.True(t, ok)
			near(ttl, time.Until(l.Deadline()))
			return nil
		}
		require.NoError(t, m.WithLock(t.Context(), "k", check), "by Defaults")
		other := redisManager(t, srv)
		require.NoError(t, other.WithLock(t.Context(), "k", check, actorlock.TTL(ttl)), "by the call")
		lock, err := other.Acquire(t.Context(), "k", actorlock.TTL(ttl))
		require.NoError(t, err)
		require.NoError(t, check(lock.Context()), "by hand")
		require.NoError(t, lock.Release(t.Context()))

		other = redisManager(t, srv, retryForever)
		h := hold(t, other, "k", actorlock.TTL(10*time.Second))
		next := start(other, "k", check, actorlock.TTL(ttl))
		queued(t, other, "k", 1)
		require.NoError(t, h.let())
		require.NoError(t, next.wait(), "by a hand-over")
	}
	renewed(t, look, redisStore(t, userClient(t, srv.Addr())))
}

// renewed looks at the time to live that renewals set: of a short lock as it
// happens, and of a long one in the store and in virtual time.
func renewed(t *testing.T, look *redis.Client, store *redisstore.Store) {
	t.Helper()
	m := newManager(t, store, actorlock.TTL(2*time.Second))
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		for last := look.PTTL(ctx, "k").Val(); ; {
			left := look.PTTL(ctx, "k").Val()
			require.LessOrEqual(t, left, 2*time.Second)
			if left > last {
				require.Greater(t, left, time.Second)
				break
			}
			last = left
		}
		value := look.Get(ctx, "k").Val()
		store.Extend(ctx, []lease.Extension{{Key: "k", Value: value, TTL: time.Hour}}, func(_ int, err error) {
			require.NoError(t, err)
		})
		left := look.PTTL(ctx, "k").Val()
		require.LessOrEqual(t, left, time.Hour)
		require.Greater(t, left, 57*time.Minute)
		return nil
	}))
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		h := holding(t, t.Context(), newManager(t, f, actorlock.TTL(time.Hour)), "k")
		pass(20*time.Minute + about)
		require.Greater(t, peek(t, mem, "k").TTL, time.Hour-2*time.Minute-about)
		require.LessOrEqual(t, peek(t, mem, "k").TTL, time.Hour)
		h.release()
	})
}
