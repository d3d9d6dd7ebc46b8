package actors_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// ways are those in which a callback can settle.
var ways = map[string]func() error{
	"returned": func() error { return nil },
	"failed":   func() error { return errMine },
	"panicked": func() error { panic(errMine) },
	"goexit":   func() error { runtime.Goexit(); return nil },
}

// calling runs a call in a goroutine of its own. It reports what the call
// returned or was panicked with, and whether it came back at all.
func calling(call func() error) (err error, recovered any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recovered = recover() }()
		err = call()
		returned = true
	}()
	<-done
	return err, recovered, returned
}

func requireSettled(t *testing.T, way string, err error, recovered any, returned bool) {
	t.Helper()
	switch way {
	case "returned":
		require.NoError(t, err)
		require.True(t, returned)
	case "failed":
		require.Equal(t, errMine, err)
		require.True(t, returned)
	case "panicked":
		require.IsType(t, &actorlock.PanicError{}, recovered)
		require.ErrorIs(t, recovered.(error), errMine)
	case "goexit":
		require.Nil(t, recovered)
		require.False(t, returned, "Goexit ends the caller")
	}
}

// contract 4.1: the lock is released as soon as the callback settles, however.
func TestReleaseWhenTheCallbackSettles(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		for way, settle := range ways {
			err, recovered, returned := calling(func() error {
				return m.WithLock(t.Context(), "k", func(context.Context) error {
					require.True(t, peek(t, mem, "k").Held)
					return settle()
				})
			})
			requireSettled(t, way, err, recovered, returned)
			require.False(t, peek(t, mem, "k").Held, way)
		}
		require.Equal(t, len(ways), f.Calls(leasetest.OpRelease))
	})
}

// contract 4.1, as another client of the server sees it.
func TestReleaseWhenTheCallbackSettlesInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	m := redisManager(t, srv)
	for way, settle := range ways {
		err, recovered, returned := calling(func() error {
			return m.WithLock(t.Context(), "k", func(context.Context) error {
				require.EqualValues(t, 1, other.Exists(t.Context(), "k").Val())
				return settle()
			})
		})
		requireSettled(t, way, err, recovered, returned)
		require.Zero(t, other.Exists(t.Context(), "k").Val(), way)
	}
}

func panicHere(v any) error { panic(v) }

// contract 4.1: a panic reaches the caller with its value and the callback's
// stack, and unwraps to a value that is an error.
func TestReleasePanicError(t *testing.T) {
	m := newManager(t, memstore.New())
	for _, v := range []any{"text", 42, io.ErrUnexpectedEOF, error(nil)} {
		_, recovered, _ := calling(func() error {
			return m.WithLock(t.Context(), "k", func(context.Context) error { return panicHere(v) })
		})
		e, ok := recovered.(*actorlock.PanicError)
		require.True(t, ok, "%T", recovered)
		require.Contains(t, string(e.Stack), "panicHere")
		switch v := v.(type) {
		case nil:
			require.IsType(t, &runtime.PanicNilError{}, e.Value)
		case error:
			require.Equal(t, v, errors.Unwrap(e))
		default:
			require.Equal(t, v, e.Value)
			require.NoError(t, errors.Unwrap(e))
		}
	}
}

// contract 4.1: by compare-and-delete: somebody else's lock stays.
func TestReleaseDeletesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	m := redisManager(t, srv)
	_ = m.WithLock(t.Context(), "k", func(context.Context) error {
		return other.Set(t.Context(), "k", "foreign", time.Minute).Err()
	})
	require.Equal(t, "foreign", other.Get(t.Context(), "k").Val())
}

// contract 4.3: a release that finds the key gone or taken tells of the loss,
// with the callback's value and error.
func TestReleaseFindsTheLockLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		for _, want := range []error{nil, errMine} {
			for reason, spoil := range map[error]func(){
				actorlock.ErrLeaseGone:  func() { mem.Delete("k") },
				actorlock.ErrLeaseTaken: func() { mem.Steal("k", "other/1", time.Hour) },
			} {
				h := holding(t, t.Context(), m, "k")
				spoil()
				h.settle(7, want)
				value, err := h.outcome()
				require.Equal(t, 7, value)
				var e *actorlock.LockLostError
				require.ErrorAs(t, err, &e)
				require.ErrorIs(t, err, reason)
				require.Equal(t, "k", e.Key)
				require.Equal(t, want, e.Callback)
				if want != nil {
					require.ErrorIs(t, err, want)
				}
				mem.Delete("k")
			}
		}
	})
}

// contract 4.1: a panic wins over a loss, and so does Goexit.
func TestReleasePanicWinsOverALoss(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(time.Second))
		for _, way := range []string{"panicked", "goexit"} {
			for _, late := range []bool{false, true} {
				err, recovered, returned := calling(func() error {
					return m.WithLock(t.Context(), "k", func(ctx context.Context) error {
						mem.Delete("k")
						if late {
							<-ctx.Done()
						}
						return ways[way]()
					}, actorlock.AwaitCallback())
				})
				requireSettled(t, way, err, recovered, returned)
			}
		}
	})
}
