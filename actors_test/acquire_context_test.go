package actors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

var errCause = errors.New("the caller's cause")

// contract 2.7
func TestContextThatIsDoneAlready(t *testing.T) {
	inner := memstore.New()
	store := newSpy(inner)
	m := newManager(t, store)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	for _, opts := range [][]actorlock.Option{nil, {actorlock.RetryAttempts(0)}, {retryForever}} {
		err := m.WithLock(ctx, "k", never(t), opts...)
		e := refused(t, err)
		require.Equal(t, "k", e.Key)
		require.Zero(t, e.Attempts)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errCause)
		require.NotErrorIs(t, err, actorlock.ErrHeld)
	}
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	err := m.WithLock(late, "k", never(t))
	refused(t, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = m.Acquire(ctx, "k")
	refused(t, err)
	require.ErrorIs(t, err, errCause)
	require.Zero(t, store.commands())
}

// contract 2.7
func TestContextEndsDuringTheWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		store := newSpy(inner)
		m := newManager(t, store)
		foreign(inner, "k", lease.NoExpiry)
		w := start(m, "k", never(t), retryForever)
		pass(900 * time.Millisecond)
		w.cancel(errCause)
		synctest.Wait()
		require.True(t, w.settled(), "at once, in virtual time")
		e := refused(t, w.err)
		require.ErrorIs(t, e, context.Canceled)
		require.ErrorIs(t, e, errCause)
		require.ErrorIs(t, e, actorlock.ErrHeld)
		require.Equal(t, 900*time.Millisecond, e.Waited)
		require.GreaterOrEqual(t, e.Attempts, 5)
		require.Equal(t, "other", e.Holder)
		before := store.commands()
		pass(time.Minute)
		require.Equal(t, before, store.commands(), "nobody asks any more")
	})
}

// contract 2.7
func TestContextEndsBeforeAnAttemptHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hung := leasetest.NewFaulty(memstore.New())
		hung.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Hang: true}))
		m := newManager(t, hung)
		w := start(m, "k", never(t), retryForever)
		pass(time.Second)
		w.cancel(errCause)
		synctest.Wait()
		require.True(t, w.settled())
		require.ErrorIs(t, w.err, errCause)
		require.NotErrorIs(t, w.err, actorlock.ErrHeld, "nothing was seen")
	})
}

// contract 2.7
func TestContextEndsAfterTheLastAttemptFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		store := leasetest.NewFaulty(deaf{inner})
		m := newManager(t, store)
		w := start(m, "k", never(t), retryForever, actorlock.RetryDelay(time.Second))
		pass(time.Millisecond)
		store.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Err: errors.New("down"), Kind: lease.NotExecuted}))
		pass(time.Second)
		w.cancel(nil)
		require.ErrorIs(t, w.wait(), context.Canceled)
		require.NotErrorIs(t, w.err, actorlock.ErrHeld, "the last attempt has not found it held")
	})
}

// contract 2.7
func TestContextEndsBehindACallOfTheSameNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManager(t, nil)
		h := hold(t, m, "k")
		w := start(m, "k", never(t), retryForever)
		pass(time.Second)
		w.cancel(errCause)
		synctest.Wait()
		require.True(t, w.settled())
		require.ErrorIs(t, w.err, errCause)
		require.ErrorIs(t, w.err, actorlock.ErrHeld)
		require.NoError(t, h.let())
	})
}

// contract 2.7
func TestLateLeaseIsReleasedInTheBackground(t *testing.T) {
	faults := map[string]leasetest.Fault{
		"slow reply":    {After: time.Second},
		"slow command":  {Before: time.Second},
		"hanging reply": {After: 20 * time.Second},
		"stray command": {Before: 20 * time.Second},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				inner := memstore.New()
				slow := leasetest.NewFaulty(inner)
				slow.On(leasetest.OpAcquire, leasetest.Times(1, fault))
				m := newManager(t, slow)
				begin := time.Now()
				w := start(m, "k", never(t))
				pass(100 * time.Millisecond)
				w.cancel(nil)
				require.ErrorIs(t, w.wait(), context.Canceled)
				require.Equal(t, 100*time.Millisecond, time.Since(begin))
				pass(25 * time.Second)
				require.Zero(t, inner.Len(), "nothing is left of the lease")
				require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.RetryAttempts(0)))
			})
		})
	}
}

// contract 2.7
func TestContextEndsWhileRedisHangs(t *testing.T) {
	srv := redisServer(t)
	m := redisManager(t, srv)
	require.NoError(t, m.WithLock(t.Context(), "k", nothing))
	require.NoError(t, srv.Pause())
	w := start(m, "k", never(t), retryForever)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := m.WithLock(ctx, "k", never(t), retryForever)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begin), time.Second)
	begin = time.Now()
	w.cancel(errCause)
	require.ErrorIs(t, w.wait(), errCause)
	require.Less(t, time.Since(begin), time.Second)
	require.NoError(t, srv.Resume())
	eventually(t, func() bool { return srv.Client(t).Exists(t.Context(), "k").Val() == 0 }, "a late lease is released")
	require.NoError(t, m.WithLock(t.Context(), "k", nothing))
}

// contract 2.7
func TestLateLeaseInRedisIsReleased(t *testing.T) {
	srv := redisServer(t)
	proxy := faultproxy.New(t, srv.Addr())
	m := newManager(t, redisStore(t, userClient(t, proxy.Addr())))
	require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
	hit := proxy.StallReplyOf(faultproxy.Containing("\r\nk\r\n"), 1, 300*time.Millisecond)
	look := srv.Client(t)

	w := start(m, "k", never(t))
	<-hit
	require.EqualValues(t, 1, look.Exists(t.Context(), "k").Val())
	w.cancel(nil)
	require.ErrorIs(t, w.wait(), context.Canceled)
	require.EqualValues(t, 1, look.Exists(t.Context(), "k").Val(), "the call did not wait for it")
	eventually(t, func() bool { return look.Exists(t.Context(), "k").Val() == 0 })
}
