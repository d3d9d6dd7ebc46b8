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

// contract 5.2: nothing is deleted while the callback of a lost lock runs; when
// it settles, one compare-and-delete of its value is sent.
func TestLostIsDeletedWhenTheCallbackSettles(t *testing.T) {
	for _, await := range []bool{false, true} {
		for way, settle := range ways {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				f := leasetest.NewFaulty(mem)
				s := &recorder{Store: f}
				log := quietLogger(t)
				m := startManager(t, actorlock.Config{Store: s, Logger: log.Logger})
				opts := []actorlock.Option{actorlock.TTL(time.Minute)}
				if await {
					opts = append(opts, actorlock.AwaitCallback())
				}
				leave, out := make(chan struct{}), make(chan struct{})
				var err error
				go func() {
					defer close(out)
					err, _, _ = calling(func() error {
						return m.WithLock(t.Context(), "k", func(context.Context) error { <-leave; return settle() }, opts...)
					})
				}()
				f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Err: io.EOF}))
				time.Sleep(30 * time.Second)
				require.Equal(t, !await, isClosed(out))
				require.True(t, peek(t, mem, "k").Held, "the old value still stands")
				require.Empty(t, s.seen().releases)
				close(leave)
				<-out
				if !await {
					require.ErrorIs(t, err, io.EOF)
				}
				time.Sleep(time.Millisecond)
				got := s.seen()
				require.Len(t, got.releases, 1, way)
				require.Equal(t, got.acquires[0].Value, got.releases[0].Value)
				require.False(t, peek(t, mem, "k").Held)
				if way == "panicked" && !await {
					// contract 6.2: recovered, and logged with its stack.
					require.Equal(t, 1, log.count("panic in a callback"))
					require.Contains(t, log.text(), "release_settle_test.go")
				}
				time.Sleep(2 * time.Minute)
				require.Len(t, s.seen().releases, 1)
			})
		}
	}
}

// contract 5.4: AwaitCallback waits for the callback, whose value and error come
// with the loss; its context has ended all the same.
func TestLostAwaitCallback(t *testing.T) {
	for _, want := range []error{nil, errMine} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			m := newManager(t, f, actorlock.TTL(3*time.Second))
			h := holding(t, t.Context(), m, "k", actorlock.AwaitCallback())
			mem.Delete("k")
			<-h.ctx.Done()
			time.Sleep(time.Hour)
			require.False(t, isClosed(h.done))
			h.settle(7, want)
			value, err := h.outcome()
			require.Equal(t, 7, value)
			var e *actorlock.LockLostError
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, actorlock.ErrLeaseGone)
			require.Equal(t, want, e.Callback)
		})
	}
}

// contract 5.4: Shutdown itself waits for no callback.
func TestLostAwaitCallbackAtShutdown(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(3*time.Second))
		h := holding(t, t.Context(), m, "k", actorlock.AwaitCallback())
		begin := time.Now()
		require.NoError(t, m.Shutdown(t.Context()))
		require.Less(t, time.Since(begin), about)
		require.False(t, peek(t, mem, "k").Held)
		time.Sleep(time.Hour)
		require.False(t, isClosed(h.done))
		h.settle(7, errMine)
		value, err := h.outcome()
		require.Equal(t, 7, value)
		require.ErrorIs(t, err, actorlock.ErrShutdown)
		require.ErrorIs(t, err, errMine)
	})
}

// contract 5.3: with a store that hangs, the holder is told before any other
// node can have the key; a late "ok" revives nothing.
func TestLostBeforeAnotherHasTheKey(t *testing.T) {
	for _, ttl := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			m := newManager(t, f, actorlock.TTL(ttl))
			other := newManager(t, mem, actorlock.TTL(ttl))
			f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true}))
			h := holding(t, t.Context(), m, "k", actorlock.OnRedisError(actorlock.RetryUntilDeadline))
			rival := queueUp(t, t.Context(), other, "k", actorlock.RetryAttempts(forever), actorlock.RetryDelay(time.Millisecond))
			_, err := h.outcome()
			require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
			require.Error(t, h.ctx.Err())
			require.False(t, isClosed(rival.in), "%v", ttl)
			require.True(t, peek(t, mem, "k").Held)
			rival.granted()
			f.On(leasetest.OpExtend, nil)
		})
	}
}

// contract 5.3: an extension that was executed and is answered after the
// deadline does not revive the lease.
func TestLostForGoodDespiteALateReply(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		const ttl = 3 * time.Second
		slow := slowReplies{f, ttl}
		m := newManager(t, slow, actorlock.TTL(ttl), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
		h := holding(t, t.Context(), m, "k", actorlock.AwaitCallback())
		<-h.ctx.Done()
		require.ErrorIs(t, context.Cause(h.ctx), actorlock.ErrLeaseExpired)
		l, _ := actorlock.LeaseFrom(h.ctx)
		time.Sleep(3 * ttl) // the replies have come
		later, _ := actorlock.LeaseFrom(h.ctx)
		require.False(t, later.Deadline().After(l.Deadline()))
		require.Error(t, h.ctx.Err())
		require.ErrorIs(t, m.WithLock(h.ctx, "k", func(context.Context) error { return nil }), actorlock.ErrLeaseExpired)
		h.settle(0, nil)
		_, err := h.outcome()
		require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
	})
}

// slowReplies is a client that heeds no context: every extension is executed
// at once and answered late.
type slowReplies struct {
	lease.Store
	by time.Duration
}

func (s slowReplies) Extend(ctx context.Context, batch []lease.Extension, report func(int, error)) {
	verdicts := make([]error, len(batch))
	s.Store.Extend(context.WithoutCancel(ctx), batch, func(i int, err error) { verdicts[i] = err })
	time.Sleep(s.by)
	for i, err := range verdicts {
		report(i, err)
	}
}
