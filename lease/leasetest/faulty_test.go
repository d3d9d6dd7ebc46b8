package leasetest_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFaultyPasses(t *testing.T) {
	leasetest.Exercise(t, func(*testing.T) lease.Store { return leasetest.NewFaulty(memstore.New()) })
}

// Faults that change no outcome must leave a store that keeps every promise.
func TestFaultySlow(t *testing.T) {
	leasetest.Exercise(t, func(*testing.T) lease.Store {
		f := leasetest.NewFaulty(memstore.New())
		var n atomic.Int64
		hook := func(context.Context, string) leasetest.Fault {
			switch n.Add(1) % 16 {
			case 0:
				return leasetest.Fault{Before: 50 * time.Microsecond}
			case 1:
				return leasetest.Fault{After: 50 * time.Microsecond}
			}
			return leasetest.Fault{}
		}
		for _, op := range []leasetest.Op{
			leasetest.OpAcquire, leasetest.OpExtend, leasetest.OpRelease,
			leasetest.OpReserve, leasetest.OpContended, leasetest.OpInspect, leasetest.OpWatch,
		} {
			f.On(op, hook)
		}
		return f
	})
}

var errBoom = errors.New("boom")

func acquire(ctx context.Context, s lease.Store, key string) (lease.Attempt, error) {
	return s.Acquire(ctx, lease.Acquisition{Key: key, Value: "node/1", TTL: time.Minute, Fence: true})
}

// bubble runs fn with fake time and a store of its own.
func bubble(t *testing.T, fn func(t *testing.T, f *leasetest.Faulty, inner *memstore.Store)) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		f := leasetest.NewFaulty(inner)
		fn(t, f, inner)
		f.Wait()
	})
}

func TestFaultErr(t *testing.T) {
	for _, kind := range []lease.Kind{lease.Unknown, lease.NotExecuted, lease.Permanent} {
		bubble(t, func(t *testing.T, f *leasetest.Faulty, inner *memstore.Store) {
			f.On(leasetest.OpAcquire, leasetest.Times(2, leasetest.Fault{Err: errBoom, Kind: kind}))
			for range 2 {
				_, err := acquire(t.Context(), f, "k")
				require.ErrorIs(t, err, errBoom)
				require.EqualError(t, err, "acquire: boom")
				require.Equal(t, kind, lease.KindOf(err))
				require.Zero(t, inner.Len())
			}
			at, err := acquire(t.Context(), f, "k")
			require.NoError(t, err)
			require.True(t, at.Acquired)
			require.Equal(t, 3, f.Calls(leasetest.OpAcquire))
			require.Zero(t, f.Calls(leasetest.OpExtend))
		})
	}
}

func TestFaultReplyLost(t *testing.T) {
	bubble(t, func(t *testing.T, f *leasetest.Faulty, inner *memstore.Store) {
		f.On(leasetest.OpAcquire, leasetest.Times(1, leasetest.Fault{Err: errBoom, Kind: lease.Permanent, Executed: true}))
		_, err := acquire(t.Context(), f, "k")
		require.ErrorIs(t, err, errBoom)
		require.Equal(t, lease.Unknown, lease.KindOf(err), "an executed command is never NotExecuted")
		require.Equal(t, 1, inner.Len())

		at, err := acquire(t.Context(), f, "k")
		require.NoError(t, err)
		require.True(t, at.Acquired, "recognised by its own value")
	})
}

func TestFaultDelays(t *testing.T) {
	bubble(t, func(t *testing.T, f *leasetest.Faulty, inner *memstore.Store) {
		f.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Before: time.Second, After: 2 * time.Second}))
		start := time.Now()
		_, err := acquire(t.Context(), f, "k")
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, time.Since(start))
		st, err := f.Inspect(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, 58*time.Second, st.TTL, "executed after one second")

		cause := errors.New("cause")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, cause)
		defer cancel()
		_, err = acquire(ctx, f, "before")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, cause)
		require.Equal(t, lease.NotExecuted, lease.KindOf(err))
		require.Equal(t, 1, inner.Len())
		f.Wait()

		ctx, cancel = context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err = acquire(ctx, f, "after")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, lease.Unknown, lease.KindOf(err))
		f.Wait()
		require.Equal(t, 2, inner.Len())
	})
}

func TestFaultHang(t *testing.T) {
	for _, executed := range []bool{false, true} {
		bubble(t, func(t *testing.T, f *leasetest.Faulty, inner *memstore.Store) {
			f.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Hang: true, Executed: executed, After: time.Second}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			_, err := acquire(ctx, f, "k")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, lease.Unknown, lease.KindOf(err))
			require.Equal(t, time.Minute, time.Since(start))
			require.Zero(t, inner.Len())
			f.Wait()
			if executed {
				require.Equal(t, time.Minute+time.Second, time.Since(start))
				require.Equal(t, 1, inner.Len())
			} else {
				require.Zero(t, inner.Len())
			}
		})
	}
}

// A client gives up by itself, and its command is executed even later.
func TestFaultLimit(t *testing.T) {
	for _, executed := range []bool{false, true} {
		bubble(t, func(t *testing.T, f *leasetest.Faulty, inner *memstore.Store) {
			f.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{
				Hang: true, Limit: time.Second, Executed: executed, After: 2 * time.Second,
			}))
			start := time.Now()
			_, err := acquire(t.Context(), f, "k")
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Equal(t, lease.Unknown, lease.KindOf(err))
			require.Equal(t, time.Second, time.Since(start))
			require.Zero(t, inner.Len())
			f.Wait()
			if executed {
				require.Equal(t, 3*time.Second, time.Since(start))
				require.Equal(t, 1, inner.Len())
			} else {
				require.Zero(t, inner.Len())
			}

			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			_, err = acquire(ctx, f, "other")
			require.ErrorIs(t, err, context.DeadlineExceeded, "ctx ends before the limit")
		})
	}
}

func TestFaultPanic(t *testing.T) {
	for _, executed := range []bool{false, true} {
		bubble(t, func(t *testing.T, f *leasetest.Faulty, inner *memstore.Store) {
			fault := leasetest.Fault{Panic: "ouch", Executed: executed}
			f.On(leasetest.OpAcquire, leasetest.Always(fault))
			require.PanicsWithValue(t, "ouch", func() { _, _ = acquire(t.Context(), f, "k") })
			require.Equal(t, executed, inner.Len() == 1)

			f.On(leasetest.OpRelease, leasetest.Always(fault))
			require.PanicsWithValue(t, "ouch", func() {
				f.Release(t.Context(), []lease.Release{{Key: "k", Value: "node/1"}}, func(int, error) {
					t.Error("a panic is no verdict")
				})
			})
			require.Zero(t, inner.Len())

			f.On(leasetest.OpWatch, leasetest.Always(fault))
			require.PanicsWithValue(t, "ouch", func() { f.Watch("k", func(string) {}) })
		})
	}
}

// A batch fails lease by lease, and its delays run beside each other.
func TestFaultBatch(t *testing.T) {
	bubble(t, func(t *testing.T, f *leasetest.Faulty, inner *memstore.Store) {
		batch := make([]lease.Extension, 100)
		for i := range batch {
			batch[i] = lease.Extension{Key: lease.NewID(), Value: "node/1", TTL: time.Hour}
			_, err := acquire(t.Context(), f, batch[i].Key)
			require.NoError(t, err)
		}
		var asked int // in the order of the batch
		f.On(leasetest.OpExtend, func(_ context.Context, key string) leasetest.Fault {
			require.Equal(t, batch[asked].Key, key)
			asked++
			switch asked % 4 {
			case 1:
				return leasetest.Fault{Err: errBoom, Kind: lease.NotExecuted}
			case 2:
				return leasetest.Fault{Before: time.Second}
			case 3:
				return leasetest.Fault{Hang: true}
			}
			return leasetest.Fault{}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		got := map[int]error{}
		f.Extend(ctx, batch, func(i int, err error) { got[i] = err })
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Len(t, got, len(batch))
		for i, err := range got {
			switch i % 4 {
			case 0:
				require.ErrorIs(t, err, errBoom)
			case 1, 3:
				require.NoError(t, err)
			case 2:
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
		}
		require.Equal(t, 1, f.Calls(leasetest.OpExtend))

		f.On(leasetest.OpExtend, nil)
		f.Extend(t.Context(), batch, func(_ int, err error) { require.NoError(t, err) })
		require.Equal(t, 2, f.Calls(leasetest.OpExtend))
		require.Equal(t, len(batch), inner.Len())
	})
}

func TestFaultOtherOps(t *testing.T) {
	bubble(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		fault := leasetest.Times(1, leasetest.Fault{Err: errBoom})
		for _, op := range []leasetest.Op{leasetest.OpReserve, leasetest.OpContended, leasetest.OpInspect} {
			f.On(op, fault)
		}
		_, err := f.Reserve(t.Context(), lease.Reservation{Key: "k", Value: "node/1", Tokens: 1})
		assert.ErrorIs(t, err, errBoom)
		_, err = f.Contended(t.Context(), "k", "o")
		assert.NoError(t, err, "one hook counts for all that share it")
		_, err = f.Inspect(t.Context(), "k")
		assert.NoError(t, err)
		for _, op := range []leasetest.Op{leasetest.OpReserve, leasetest.OpContended, leasetest.OpInspect} {
			assert.Equal(t, 1, f.Calls(op))
		}
	})
}

func TestFaultDeafWatch(t *testing.T) {
	for _, fault := range []leasetest.Fault{{Err: errBoom}, {Hang: true}} {
		bubble(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
			f.On(leasetest.OpWatch, leasetest.Always(fault))
			stop := f.Watch("k", func(string) { t.Error("a deaf watch was woken") })
			_, err := acquire(t.Context(), f, "k")
			require.NoError(t, err)
			f.Release(t.Context(), []lease.Release{{Key: "k", Value: "node/1"}}, func(int, error) {})
			synctest.Wait()
			stop()
		})
	}
}

func TestFaultyConcurrent(t *testing.T) {
	f := leasetest.NewFaulty(memstore.New())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				f.On(leasetest.OpAcquire, leasetest.Times(1, leasetest.Fault{Err: errBoom}))
				_, _ = acquire(t.Context(), f, lease.NewID())
				f.On(leasetest.OpAcquire, nil)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 400, f.Calls(leasetest.OpAcquire))
}
