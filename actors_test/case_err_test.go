package actors_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// isConnection reports whether an error says that the server was not reached.
func isConnection(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

// Redis unreachable is not "lock taken", not even when it was taken before.
//
// contract 2.8
func TestCase_B047(t *testing.T) {
	srv := redisServer(t)
	require.NoError(t, srv.Client(t).Set(t.Context(), "k", "other/1", 0).Err())
	m := redisManager(t, srv)
	err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
	require.ErrorIs(t, err, actorlock.ErrHeld)
	require.False(t, isConnection(err))

	waits := start(m, "k", never(t), actorlock.RetryAttempts(4), actorlock.RetryDelay(time.Second))
	queued(t, m, "k", 1)
	require.NoError(t, srv.Kill())
	err = m.WithLock(t.Context(), "free", never(t), actorlock.RetryAttempts(0))
	for _, err := range []error{err, waits.wait()} {
		refused(t, err)
		require.NotErrorIs(t, err, actorlock.ErrHeld)
		require.True(t, isConnection(err), "%v", err)
	}
}

// A deadline, or a cancel, while waiting is the context's error and its cause
// and ErrHeld too, whoever holds the lock and however it is waited for.
//
// contract 2.7
func TestCase_B048(t *testing.T) {
	cause := errors.New("the user has left")
	ends := map[string]func() (context.Context, context.CancelFunc, []error){
		"deadline": func() (context.Context, context.CancelFunc, []error) {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			return ctx, cancel, []error{context.DeadlineExceeded}
		},
		"deadline with cause": func() (context.Context, context.CancelFunc, []error) {
			ctx, cancel := context.WithTimeoutCause(context.Background(), 300*time.Millisecond, cause)
			return ctx, cancel, []error{context.DeadlineExceeded, cause}
		},
		"cancel with cause": func() (context.Context, context.CancelFunc, []error) {
			ctx, cancel := context.WithCancelCause(context.Background())
			timer := time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
			return ctx, func() { timer.Stop(); cancel(nil) }, []error{context.Canceled, cause}
		},
	}
	for name, end := range ends {
		bubble(t, func(t *testing.T) {
			store := memstore.New()
			m, other := newManager(t, store), newManager(t, store)
			foreign(store, "foreign", time.Hour)
			here, there := hold(t, m, "here"), hold(t, other, "there")
			for _, key := range []string{"foreign", "here", "there"} {
				for _, opts := range [][]actorlock.Option{nil, {retryForever}, {actorlock.RetryDelay(time.Hour)}} {
					for form, wait := range map[string]func(context.Context) error{
						"callback": func(ctx context.Context) error { return m.WithLock(ctx, key, never(t), opts...) },
						"await": func(ctx context.Context) error {
							return m.WithLock(ctx, key, never(t), append(opts, actorlock.AwaitCallback())...)
						},
						"manual": func(ctx context.Context) error {
							_, err := m.Acquire(ctx, key, opts...)
							return err
						},
					} {
						ctx, cancel, want := end()
						begin := time.Now()
						err := wait(ctx)
						cancel()
						require.Equal(t, 300*time.Millisecond, time.Since(begin))
						require.Equal(t, key, refused(t, err).Key)
						for _, e := range append(want, actorlock.ErrHeld) {
							require.ErrorIs(t, err, e, "%s, %s, %s", name, key, form)
						}
					}
				}
			}
			require.NoError(t, here.let())
			require.NoError(t, there.let())
		})
	}
}

// A lock that is gone is told from one that was taken, with the key and the
// step that found it: a release, or an extension.
//
// contract 4.3
// contract 5.1
func TestCase_B049(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	m := redisManager(t, srv)
	gone := func() { require.NoError(t, look.Del(context.Background(), "jobs:7").Err()) }
	taken := func() { require.NoError(t, look.Set(context.Background(), "jobs:7", "other/1", time.Minute).Err()) }
	for _, c := range []struct {
		step, ttl string
		lose      func()
		is, not   error
	}{
		{"release", "1m", gone, actorlock.ErrLeaseGone, actorlock.ErrLeaseTaken},
		{"release", "1m", taken, actorlock.ErrLeaseTaken, actorlock.ErrLeaseGone},
		{"extend", "1500ms", gone, actorlock.ErrLeaseGone, actorlock.ErrLeaseTaken},
		{"extend", "1500ms", taken, actorlock.ErrLeaseTaken, actorlock.ErrLeaseGone},
	} {
		ttl, err := time.ParseDuration(c.ttl)
		require.NoError(t, err)
		err = m.WithLock(t.Context(), "jobs:7", func(ctx context.Context) error {
			c.lose()
			if c.step == "extend" {
				<-ctx.Done()
			}
			return nil
		}, actorlock.TTL(ttl), actorlock.AwaitCallback())
		var lost *actorlock.LockLostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, "jobs:7", lost.Key)
		require.ErrorIs(t, err, c.is)
		require.NotErrorIs(t, err, c.not)
		require.NotErrorIs(t, err, actorlock.ErrHeld)
		require.ErrorContains(t, err, `"jobs:7"`)
		require.ErrorContains(t, err, c.step)
		step, ok := errors.AsType[*lease.StoreError](err)
		require.True(t, ok)
		require.Equal(t, c.step, step.Op)
		require.NoError(t, look.Del(t.Context(), "jobs:7").Err())
	}
}

// After a loss with a stalled Redis the call returns as soon as its callback
// has ended: no release is waited for.
//
// contract 5.1
// contract 5.4
func TestCase_B051(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(10*time.Second))
		lock, err := m.Acquire(t.Context(), "manual")
		require.NoError(t, err)
		prompt := holding(t, t.Context(), m, "at once")
		waits := holding(t, t.Context(), m, "await", actorlock.AwaitCallback())
		for _, op := range []leasetest.Op{leasetest.OpAcquire, leasetest.OpExtend, leasetest.OpRelease} {
			f.On(op, leasetest.Always(leasetest.Fault{Hang: true}))
		}
		began := time.Now()
		<-waits.ctx.Done()
		require.LessOrEqual(t, time.Since(began), 10*time.Second)
		_, err = prompt.outcome()
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)

		pass(time.Minute) // the callback takes its time
		ended := time.Now()
		waits.settle(7, nil)
		_, err = waits.outcome()
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
		err = lock.Release(t.Context())
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
		require.ErrorContains(t, err, `"manual"`)
		require.Zero(t, time.Since(ended))
	})
}

// Taken, lost, closed, misconfigured and unreachable are five different errors,
// each of which is none of the others.
func TestCase_B053(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		store := leasetest.NewFaulty(mem)
		m := newManager(t, store, actorlock.RetryAttempts(0), actorlock.TTL(3*time.Second))
		closed := startManager(t, actorlock.Config{Store: store, FailAfterShutdown: true})
		require.NoError(t, closed.Shutdown(t.Context()))
		down := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		wait := func(ctx context.Context) error { <-ctx.Done(); return nil }

		foreign(mem, "taken", time.Hour)
		errs := []error{m.WithLock(t.Context(), "taken", never(t))}
		lost := start(m, "lost", wait)
		pass(time.Millisecond)
		foreign(mem, "lost", time.Hour)
		errs = append(errs, lost.wait(),
			closed.WithLock(t.Context(), "k", never(t)),
			m.WithLock(t.Context(), "k", never(t), actorlock.TTL(-1)))
		store.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Err: down, Kind: lease.NotExecuted}))
		errs = append(errs, m.WithLock(t.Context(), "k", never(t)))

		kinds := []func(error) bool{
			func(err error) bool { return errors.Is(err, actorlock.ErrHeld) },
			func(err error) bool { _, ok := errors.AsType[*actorlock.LockLostError](err); return ok },
			func(err error) bool { return errors.Is(err, actorlock.ErrShutdown) },
			func(err error) bool { return errors.Is(err, actorlock.ErrInvalidConfig) },
			isConnection,
		}
		for i, err := range errs {
			for k, is := range kinds {
				require.Equal(t, i == k, is(err), "%d %d: %v", i, k, err)
			}
		}
	})
}
