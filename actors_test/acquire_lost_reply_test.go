package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 2.9
func TestLostReplyIsRecognised(t *testing.T) {
	srv := redisServer(t)
	proxy := faultproxy.New(t, srv.Addr())
	look := srv.Client(t)
	// The client sends a command up to four times.
	for name, losses := range map[string]int{"sent again by the client": 1, "sent again by the owner": 4} {
		t.Run(name, func(t *testing.T) {
			store := newSpy(redisStore(t, userClient(t, proxy.Addr())))
			m := newManager(t, store)
			require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
			lost := proxy.DropReplyOf(faultproxy.Containing("\r\nk\r\n"), losses)
			runs, value := 0, ""
			require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
				runs++
				value = look.Get(ctx, "k").Val()
				return nil
			}, actorlock.RetryDelay(50*time.Millisecond)))
			for range losses {
				<-lost
			}
			require.Equal(t, 1, runs, "it succeeds, once")
			for _, a := range store.attempts()[1:] {
				require.Equal(t, value, a.request.Value, "one value for all attempts")
			}
			require.Len(t, store.attempts(), 2+losses/4)
			require.Zero(t, look.Exists(t.Context(), "k").Val())
		})
	}
}

// contract 2.9
// The deadline counts from the send that is recognised, not from one whose
// reply was lost: the store has set the full time again.
func TestDeadlineCountsFromTheRecognisedSend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := leasetest.NewFaulty(deaf{memstore.New()})
		store.On(leasetest.OpAcquire, leasetest.Times(4, leasetest.Fault{Err: errDown, Executed: true}))
		m := newManager(t, store)
		begin := time.Now()
		require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			require.Greater(t, time.Since(begin), 3*time.Second)
			l, _ := actorlock.LeaseFrom(ctx)
			require.Equal(t, lease.DeadlineOf(time.Now(), 2*time.Second), l.Deadline())
			return nil
		}, actorlock.TTL(2*time.Second), actorlock.RetryDelay(time.Second)))
	})
}

// contract 2.9
func TestAbandonedAcquisitionIsReleasedBehindTheCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		store := leasetest.NewFaulty(inner)
		store.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Err: errDown, Executed: true}))
		m := newManager(t, store)
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
		require.ErrorIs(t, err, errDown)
		pass(time.Millisecond)
		require.Zero(t, inner.Len())
		require.Equal(t, 1, store.Calls(leasetest.OpRelease))

		// A release that fails, too, leaves the rest to the TTL.
		store.On(leasetest.OpRelease, leasetest.Always(leasetest.Fault{Err: errDown}))
		require.Error(t, m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0), actorlock.TTL(5*time.Second)))
		pass(time.Second)
		require.Equal(t, 1, inner.Len())
		pass(4 * time.Second)
		require.Zero(t, inner.Len())
	})
}

// contract 2.9
func TestEachAcquisitionHasAValueOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := newSpy(memstore.New())
		m := newManager(t, store)
		seen := map[string]bool{}
		for range 50 {
			require.NoError(t, m.WithLock(t.Context(), "k", nothing))
		}
		for _, a := range store.attempts() {
			seen[a.request.Value] = true
		}
		require.Len(t, seen, 50)
	})
}

// contract 2.10
func TestLeaseThatIsPastItsDeadlineIsNotUsed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		slow := leasetest.NewFaulty(deaf{inner})
		slow.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{After: 995 * time.Millisecond}))
		m := newManager(t, slow, actorlock.TTL(time.Second))
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
		require.NotErrorIs(t, err, actorlock.ErrHeld)
		require.Equal(t, 1, refused(t, err).Attempts)
		require.Equal(t, 995*time.Millisecond, time.Since(begin))
		pass(time.Millisecond)
		require.Zero(t, inner.Len(), "it was released, before its TTL")
		require.Equal(t, 1, slow.Calls(leasetest.OpRelease))

		err = m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(4), actorlock.RetryDelay(2*time.Second))
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
		require.Equal(t, 5, refused(t, err).Attempts, "it counts as an attempt")
		require.Equal(t, 6, slow.Calls(leasetest.OpAcquire))

		slow.On(leasetest.OpAcquire, leasetest.Times(1, leasetest.Fault{After: 995 * time.Millisecond}))
		require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.RetryAttempts(1), actorlock.RetryDelay(2*time.Second)), "the next one may do")
	})
}

// contract 2.10
func TestReplyThatArrivesInTimeIsUsed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := leasetest.NewFaulty(memstore.New())
		slow.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{After: 950 * time.Millisecond}))
		m := newManager(t, slow, actorlock.TTL(time.Second))
		slow.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true}))
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			require.Equal(t, 950*time.Millisecond, time.Since(begin))
			<-ctx.Done()
			return nil
		}, actorlock.RetryAttempts(0), actorlock.AwaitCallback())
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
		require.Equal(t, lease.DeadlineOf(begin, time.Second), time.Now(), "counted from before the send")
	})
}

// contract 2.10
func TestLateReplyOfRedis(t *testing.T) {
	srv := redisServer(t)
	proxy := faultproxy.New(t, srv.Addr())
	m := newManager(t, redisStore(t, userClient(t, proxy.Addr())))
	require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
	proxy.StallReplyOf(faultproxy.Containing("\r\nk\r\n"), 1, 400*time.Millisecond)
	err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0), actorlock.TTL(200*time.Millisecond))
	require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
	refused(t, err)
}
