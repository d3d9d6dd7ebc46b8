package actors_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 3.3: the callback's context carries the lease.
func TestHoldLeaseFrom(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		type tag struct{}
		m := startManager(t, actorlock.Config{Store: f, Node: "node-1", Prefix: "p:"})
		_, ok := actorlock.LeaseFrom(t.Context())
		require.False(t, ok)
		begin := time.Now()
		h := holding(t, context.WithValue(t.Context(), tag{}, 7), m, "k", actorlock.TTL(3*time.Second))
		require.Equal(t, 7, h.ctx.Value(tag{}), "the caller's values are there")
		l, ok := actorlock.LeaseFrom(h.ctx)
		require.True(t, ok)
		require.Equal(t, "k", l.Key, "without the prefix")
		require.Equal(t, "node-1", l.Node)
		require.NotZero(t, l.Token)
		require.Equal(t, lease.DeadlineOf(begin, 3*time.Second), l.Deadline())
		time.Sleep(1500 * time.Millisecond)
		later, _ := actorlock.LeaseFrom(h.ctx)
		require.True(t, later.Deadline().After(l.Deadline()), "a renewal moves it")
		require.Equal(t, l.Token, later.Token)
		inner, _ := actorlock.LeaseFrom(context.WithValue(h.ctx, tag{}, 8))
		require.Equal(t, later, inner)
		require.True(t, peek(t, f, "p:k").Held)
	})
}

// contract 3.3: in nested calls it is the lease of the innermost key asked for.
func TestHoldLeaseOfNestedCalls(t *testing.T) {
	m := newManager(t, memstore.New())
	key := func(ctx context.Context) string {
		l, _ := actorlock.LeaseFrom(ctx)
		return l.Key
	}
	var tokens []uint64
	err := m.WithLock(t.Context(), "A", func(a context.Context) error {
		require.Equal(t, "A", key(a))
		l, _ := actorlock.LeaseFrom(a)
		tokens = append(tokens, l.Token)
		return m.WithLock(a, "B", func(b context.Context) error {
			require.Equal(t, "B", key(b))
			err := m.WithLock(b, "A", func(again context.Context) error {
				require.Equal(t, "A", key(again))
				l, _ := actorlock.LeaseFrom(again)
				tokens = append(tokens, l.Token)
				return m.WithLock(again, "B", func(ctx context.Context) error {
					require.Equal(t, "B", key(ctx))
					return nil
				})
			})
			require.Equal(t, "B", key(b))
			require.Equal(t, "A", key(a))
			return err
		})
	})
	require.NoError(t, err)
	require.Equal(t, tokens[0], tokens[1], "contract 3.4: re-entry keeps the outer token")
}

var errMine = errors.New("my own reason")

// The contexts of many callbacks at once are made ahead, and are like those of few.
//
// contract 3.3, 5.1
func TestHoldContextsOfACrowd(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		type tag struct{}
		m := newManager(t, f)
		const n = 200
		var all []*running
		for i := range n {
			opts := []actorlock.Option{actorlock.TTL(3 * time.Second)}
			if i%2 == 1 {
				opts = append(opts, actorlock.AwaitCallback())
			}
			all = append(all, holding(t, context.WithValue(t.Context(), tag{}, i), m, fmt.Sprint(i), opts...))
		}
		for i, h := range all {
			require.NoError(t, h.ctx.Err())
			require.Equal(t, i, h.ctx.Value(tag{}))
			l, ok := actorlock.LeaseFrom(h.ctx)
			require.True(t, ok)
			require.Equal(t, fmt.Sprint(i), l.Key)
		}
		for i, h := range all {
			switch i % 3 {
			case 0: // released
				h.release()
				<-h.ctx.Done()
				require.ErrorIs(t, context.Cause(h.ctx), lease.ErrReleased)
			case 1: // its caller's context ends
				h.cancel(errMine)
				<-h.ctx.Done()
				require.Equal(t, errMine, context.Cause(h.ctx))
				h.release()
			case 2: // lost
				mem.Delete(fmt.Sprint(i))
				<-h.ctx.Done()
				require.ErrorIs(t, context.Cause(h.ctx), lease.ErrLeaseGone)
				h.settle(0, nil)
				<-h.done
				require.ErrorIs(t, h.err, lease.ErrLeaseGone)
			}
		}
	})
}

// contract 3.3: what ends the callback's context, each with its own cause.
func TestHoldContextCauses(t *testing.T) {
	lost := func(t *testing.T, cause, reason error) {
		t.Helper()
		var e *actorlock.LockLostError
		require.ErrorAs(t, cause, &e)
		require.Equal(t, "k", e.Key)
		require.ErrorIs(t, cause, reason)
	}
	tests := map[string]struct {
		end   func(t *testing.T, h *running, m *actorlock.Manager, mem *memstore.Store)
		cause func(t *testing.T, cause error)
	}{
		"loss": {
			func(_ *testing.T, _ *running, _ *actorlock.Manager, mem *memstore.Store) { mem.Delete("k") },
			func(t *testing.T, cause error) { lost(t, cause, actorlock.ErrLeaseGone) },
		},
		"shutdown": {
			func(t *testing.T, _ *running, m *actorlock.Manager, _ *memstore.Store) {
				require.NoError(t, m.Shutdown(t.Context()))
			},
			func(t *testing.T, cause error) { lost(t, cause, actorlock.ErrShutdown) },
		},
		"the caller's own cause": {
			func(_ *testing.T, h *running, _ *actorlock.Manager, _ *memstore.Store) { h.cancel(errMine) },
			func(t *testing.T, cause error) { require.Equal(t, errMine, cause) },
		},
		"the callback has returned": {
			func(_ *testing.T, h *running, _ *actorlock.Manager, _ *memstore.Store) { h.settle(0, nil) },
			func(t *testing.T, cause error) { require.Equal(t, actorlock.ErrReleased, cause) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
				m := newManager(t, f, actorlock.TTL(time.Second))
				h := holding(t, t.Context(), m, "k")
				require.NoError(t, h.ctx.Err())
				require.NoError(t, context.Cause(h.ctx))
				tt.end(t, h, m, mem)
				<-h.ctx.Done()
				require.ErrorIs(t, h.ctx.Err(), context.Canceled)
				tt.cause(t, context.Cause(h.ctx))
				sub, cancel := context.WithCancel(h.ctx)
				defer cancel()
				<-sub.Done()
				tt.cause(t, context.Cause(sub))
			})
		})
	}
}

// contract 3.3: a deadline of the caller's is one of the callback's.
func TestHoldCallersDeadline(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errMine)
		defer cancel()
		h := holding(t, ctx, m, "k")
		at, ok := h.ctx.Deadline()
		require.True(t, ok)
		require.Equal(t, time.Minute, time.Until(at))
		<-h.ctx.Done()
		require.Equal(t, context.DeadlineExceeded, h.ctx.Err())
		require.Equal(t, errMine, context.Cause(h.ctx))
	})
}

// contract 3.3: when the caller's ctx ends in mid-hold, the lock is held until
// the callback returns, and its result is passed on.
func TestHoldOutlivesTheCallersContext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Second))
		for _, want := range []error{nil, errMine, context.Canceled} {
			h := holding(t, t.Context(), m, "k")
			h.cancel(nil)
			<-h.ctx.Done()
			time.Sleep(5 * time.Second)
			require.False(t, isClosed(h.done))
			require.True(t, peek(t, mem, "k").Held, "and extended")
			h.settle(42, want)
			value, err := h.outcome()
			require.Equal(t, 42, value)
			require.Equal(t, want, err)
			require.False(t, peek(t, mem, "k").Held)
		}
	})
}

// contract 3.3: who prints the context does not race with who looks at it.
func TestHoldContextIsPrinted(t *testing.T) {
	m := newManager(t, memstore.New())
	for range 50 {
		require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			var all sync.WaitGroup
			all.Go(func() { require.Contains(t, fmt.Sprint(ctx), `"k"`) })
			all.Go(func() {
				runtime.Gosched()
				require.NoError(t, ctx.Err())
			})
			all.Wait()
			return nil
		}))
	}
}

// stubborn is a context of the caller's own making whose Err takes long when it
// is asked at the wrong time.
type stubborn struct {
	context.Context
	wrong *atomic.Bool
}

func (c stubborn) Err() error {
	if c.wrong.Load() {
		<-time.After(time.Hour)
	}
	return c.Context.Err()
}

// contract 5.2: a loss is told without asking the caller's context.
func TestHoldContextOfTheCallersOwn(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(3*time.Second))
		var wrong atomic.Bool
		begun, free, done := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			done <- m.WithLock(stubborn{t.Context(), &wrong}, "k", func(context.Context) error {
				close(begun)
				<-free
				return nil
			})
		}()
		<-begun
		mem.Steal("k", "other/1", 10*time.Second)
		wrong.Store(true)
		begin := time.Now()
		require.ErrorIs(t, <-done, actorlock.ErrLeaseTaken)
		require.Less(t, time.Since(begin), 3*time.Second)
		wrong.Store(false)
		close(free)
	})
}
