package actors_test

import (
	"context"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// afterJump is what time.Now would return instead of now had the wall clock
// been set by some seconds: another wall time, the same monotonic reading.
func afterJump(t *testing.T, now time.Time, seconds int64) time.Time {
	t.Helper()
	const nanosecondBits = 30 // below the seconds, in a time with a monotonic reading
	jumped := now
	wall := (*uint64)(unsafe.Pointer(&jumped))
	*wall += uint64(seconds << nanosecondBits)
	require.Zero(t, jumped.Sub(now), "the same monotonic reading")
	require.Equal(t, time.Duration(seconds)*time.Second, jumped.Round(0).Sub(now.Round(0)), "another wall time")
	return jumped
}

// Setting the wall clock in mid-hold moves no deadline: only the monotonic
// reading counts.
//
// contract 5.3
func TestCase_B092(t *testing.T) {
	const ttl = 30 * time.Second
	for _, jump := range []int64{3600, -3600} {
		sent := time.Now()
		term := lease.NewTerm(sent, ttl)
		require.False(t, term.Expired(afterJump(t, sent.Add(time.Second), jump)))
		require.Equal(t, ttl-time.Second, term.Remaining(afterJump(t, sent.Add(time.Second), jump)))
		require.True(t, term.Confirm(afterJump(t, sent.Add(10*time.Second), jump), afterJump(t, sent.Add(11*time.Second), jump), ttl))
		require.Zero(t, term.Deadline().Sub(lease.DeadlineOf(sent.Add(10*time.Second), ttl)))
		require.Zero(t, lease.DeadlineOf(afterJump(t, sent, jump), ttl).Sub(lease.DeadlineOf(sent, ttl)))
		require.True(t, term.Expired(afterJump(t, sent.Add(10*time.Second+ttl), jump)))
	}
	// What a holder is shown, and is ended by, is monotonic too.
	m := newManager(t, memstore.New(), actorlock.TTL(900*time.Millisecond))
	h := holding(t, t.Context(), m, "k")
	first, last := time.Time{}, time.Time{}
	eventually(t, func() bool {
		l, ok := actorlock.LeaseFrom(h.ctx)
		require.True(t, ok)
		require.NotEqual(t, l.Deadline().Round(0), l.Deadline(), "a monotonic reading")
		if first.IsZero() {
			first = l.Deadline()
		}
		last = l.Deadline()
		return last.After(first)
	}, "a renewal")
	for _, jump := range []int64{3600, -3600} {
		require.Equal(t, last.Sub(first), afterJump(t, last, jump).Sub(first))
	}
	h.release()
}

// A lease counts from before the acquire was sent; when the reply comes too
// late it is given back, and the callback is not started.
//
// contract 2.9
// contract 2.10
func TestCase_B093(t *testing.T) {
	const ttl = time.Second
	for _, delay := range []time.Duration{ttl / 2, ttl * 9 / 10, ttl * 13 / 10} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			f.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{After: delay}))
			// A lease as old as this is extended at once, which would hide its age.
			f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true}))
			m := newManager(t, f, actorlock.TTL(ttl), actorlock.RetryAttempts(0))
			sent := time.Now()
			ran := false
			err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
				ran = true
				l, _ := actorlock.LeaseFrom(ctx)
				require.Equal(t, lease.DeadlineOf(sent, ttl), l.Deadline())
				return ctx.Err()
			})
			require.Equal(t, delay < ttl, ran)
			if ran {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
				refused(t, err)
			}
			pass(about)
			require.Zero(t, mem.Len())
		})
	}

	srv := redisServer(t)
	proxy := faultproxy.New(t, srv.Addr())
	m := newManager(t, redisStore(t, userClient(t, proxy.Addr())))
	require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
	late := proxy.StallReplyOf(faultproxy.Containing("\r\nk\r\n"), 1, 390*time.Millisecond)
	err := m.WithLock(t.Context(), "k", never(t), actorlock.TTL(300*time.Millisecond), actorlock.RetryAttempts(0))
	<-late
	require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
	require.NotErrorIs(t, err, actorlock.ErrHeld)
}

// A server whose clock jumps forward gives the key up early: the next renewal
// says so.
//
// contract 5.3
func TestCase_B094(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	const ttl = 9 * time.Second
	m := redisManager(t, srv, actorlock.TTL(ttl))
	began := time.Now()
	var locks []*actorlock.Lock
	for _, policy := range []actorlock.Policy{actorlock.LoseAtOnce, actorlock.RetryUntilDeadline} {
		key := fmt.Sprint(policy)
		lock, err := m.Acquire(t.Context(), key, actorlock.OnRedisError(policy))
		require.NoError(t, err)
		require.NoError(t, look.PExpire(t.Context(), key, time.Millisecond).Err())
		locks = append(locks, lock)
	}
	for _, lock := range locks {
		select {
		case <-lock.Context().Done():
		case <-time.After(plenty):
			require.FailNow(t, "nothing was said")
		}
		require.Less(t, time.Since(began), ttl*2/3, "by the first renewal, at a third of the TTL")
		require.ErrorIs(t, context.Cause(lock.Context()), actorlock.ErrLeaseGone)
		require.ErrorIs(t, lock.Release(t.Context()), actorlock.ErrLeaseGone)
	}
}
