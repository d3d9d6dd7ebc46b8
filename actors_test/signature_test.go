package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 1.1
func TestSignature(t *testing.T) {
	var generic func(context.Context, *actorlock.Manager, string, func(context.Context) (string, error), ...actorlock.Option) (string, error) = actorlock.WithLock[string]
	var method func(*actorlock.Manager, context.Context, string, func(context.Context) error, ...actorlock.Option) error = (*actorlock.Manager).WithLock

	m := newManager(t, nil)
	got, err := generic(t.Context(), m, "k", func(ctx context.Context) (string, error) {
		l, ok := actorlock.LeaseFrom(ctx)
		require.True(t, ok)
		return l.Key, nil
	}, actorlock.TTL(time.Minute))
	require.NoError(t, err)
	require.Equal(t, "k", got)

	ran := false
	require.NoError(t, method(m, t.Context(), "k", func(context.Context) error { ran = true; return nil }))
	require.True(t, ran)
}

// contract 1.3
func TestOutcomeIsTheCallbacksOwn(t *testing.T) {
	m := newManager(t, nil)
	errX := errors.New("x")
	wrapped := fmt.Errorf("y: %w", errX)
	for _, want := range []error{nil, errX, wrapped, context.Canceled, actorlock.ErrHeld, &actorlock.AcquireError{}} {
		got := m.WithLock(t.Context(), "k", func(context.Context) error { return want })
		require.True(t, got == want, "%v instead of %v", got, want)
		value, got := actorlock.WithLock(t.Context(), m, "k", func(context.Context) (*int, error) { return new(7), want })
		require.True(t, got == want, "%v instead of %v", got, want)
		require.Equal(t, 7, *value, "the value comes also beside an error")
	}
}

// contract 1.2
func TestDefaultOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := newSpy(memstore.New())
		m := newManager(t, store)
		h := hold(t, m, "k")
		require.Equal(t, 30*time.Second, store.attempts()[0].request.TTL)
		require.NoError(t, h.let())
	})
}

// contract 1.2
func TestOptionsOfTheManagerAndOfTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		store := newSpy(inner)
		m := newManager(t, store, actorlock.TTL(7*time.Second), actorlock.RetryAttempts(2), actorlock.RetryDelay(time.Second))
		foreign(inner, "k", lease.NoExpiry)

		e := refused(t, m.WithLock(t.Context(), "k", never(t)))
		require.Equal(t, 3, e.Attempts)
		require.InDelta(t, 2*time.Second, e.Waited, float64(200*time.Millisecond))
		require.Equal(t, 7*time.Second, store.attempts()[0].request.TTL)

		e = refused(t, m.WithLock(t.Context(), "k", never(t), nil, actorlock.RetryAttempts(5), actorlock.RetryAttempts(1), actorlock.TTL(time.Minute)))
		require.Equal(t, 2, e.Attempts, "the call's own options, the last one of a kind")
		require.Equal(t, time.Minute, store.attempts()[len(store.attempts())-1].request.TTL)
		require.InDelta(t, time.Second, e.Waited, float64(100*time.Millisecond), "what the call leaves open is the manager's")
	})
}

func badOptions() map[string][]actorlock.Option {
	return map[string][]actorlock.Option{
		"TTL": {
			actorlock.TTL(0), actorlock.TTL(-time.Second), actorlock.TTL(time.Millisecond - 1), actorlock.TTL(1),
			actorlock.TTL(math.MaxInt64), actorlock.TTL(math.MinInt64), actorlock.TTL(lease.MaxTTL + 1),
		},
		"RetryDelay":    {actorlock.RetryDelay(-1), actorlock.RetryDelay(math.MinInt64)},
		"RetryAttempts": {actorlock.RetryAttempts(-2), actorlock.RetryAttempts(math.MinInt)},
		"Wait":          {actorlock.Wait(0), actorlock.Wait(-time.Second)},
		"OnRedisError":  {actorlock.OnRedisError(-1), actorlock.OnRedisError(77)},
	}
}

// contract 1.2
func TestBadValuesAreRefusedBeforeAnythingIsSent(t *testing.T) {
	store := newSpy(memstore.New())
	m := newManager(t, store)
	check := func(field string, err error) {
		t.Helper()
		require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
		var acquire *actorlock.AcquireError
		require.NotErrorAs(t, err, &acquire)
	}
	for field, options := range badOptions() {
		for _, bad := range options {
			check(field, m.WithLock(t.Context(), "k", never(t), bad))
			check(field, m.WithLock(t.Context(), "k", never(t), actorlock.TTL(time.Second), bad, actorlock.RetryAttempts(0)))
			_, err := actorlock.WithLock(t.Context(), m, "k", func(context.Context) (int, error) { return 1, never(t)(nil) }, bad)
			check(field, err)
			_, err = m.Acquire(t.Context(), "k", bad)
			check(field, err)
			_, err = actorlock.New(actorlock.Config{Defaults: []actorlock.Option{bad}})
			check(field, err)
		}
	}
	check("key", m.WithLock(t.Context(), "", never(t)))
	_, err := m.Acquire(t.Context(), "")
	check("key", err)
	check("callback", m.WithLock(t.Context(), "k", nil))
	_, err = actorlock.WithLock[int](t.Context(), m, "k", nil)
	check("callback", err)
	check("ctx", m.WithLock(nil, "k", never(t))) //nolint:staticcheck // on purpose
	_, err = actorlock.New(actorlock.Config{PollerGap: -1})
	check("PollerGap", err)
	prefixed := startManager(t, actorlock.Config{Store: store, Prefix: "app:"})
	check("key", prefixed.WithLock(t.Context(), "", never(t)))
	require.Zero(t, store.commands())
}

// contract 1.2
func TestManagersThatNewHasNotMade(t *testing.T) {
	for _, m := range []*actorlock.Manager{nil, {}} {
		require.ErrorIs(t, m.WithLock(t.Context(), "k", never(t)), actorlock.ErrInvalidConfig)
		_, err := actorlock.WithLock(t.Context(), m, "k", func(context.Context) (int, error) { return 0, never(t)(nil) })
		require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
	}
}

// contract 1.2
func TestExtremeValuesThatAreAllowed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		store := newSpy(inner)
		m := newManager(t, store)
		for _, ttl := range []time.Duration{time.Millisecond, lease.MaxTTL} {
			require.NoError(t, m.WithLock(t.Context(), "free", nothing, actorlock.TTL(ttl)))
		}
		require.NoError(t, m.WithLock(t.Context(), "free", nothing, actorlock.TTL(1500*time.Microsecond)))
		asks := store.attempts()
		require.Equal(t, time.Millisecond, asks[len(asks)-1].request.TTL, "whole milliseconds, as the store gets it")

		foreign(inner, "k", time.Hour)
		c := start(m, "k", nothing, actorlock.RetryDelay(math.MaxInt64), actorlock.RetryAttempts(math.MaxInt), actorlock.Wait(math.MaxInt64))
		pass(time.Hour + time.Second)
		require.NoError(t, c.wait())
	})
}

// contract 1.2
func TestShortTTLIsWarnedOfOnce(t *testing.T) {
	log := quietLogger(t)
	m := startManager(t, actorlock.Config{Logger: log.Logger})
	require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.TTL(100*time.Millisecond)))
	require.Zero(t, log.count("TTL"))
	for range 3 {
		require.NoError(t, m.WithLock(t.Context(), "k", nothing, actorlock.TTL(99*time.Millisecond)))
	}
	require.Equal(t, 1, log.count("TTL"), log.text())
}

// contract 1.2
func TestWaitBoundsTheWaitAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		m := newManager(t, inner)
		foreign(inner, "k", lease.NoExpiry)
		for _, attempts := range []int{actorlock.RetryForever, 100} {
			begin := time.Now()
			err := m.WithLock(t.Context(), "k", never(t), actorlock.Wait(1234*time.Millisecond), actorlock.RetryAttempts(attempts))
			require.ErrorIs(t, err, actorlock.ErrHeld)
			require.Equal(t, 1234*time.Millisecond, time.Since(begin))
			require.Equal(t, 1234*time.Millisecond, refused(t, err).Waited)
		}
		err := m.WithLock(t.Context(), "k", never(t), actorlock.Wait(time.Hour), actorlock.RetryAttempts(1))
		require.Equal(t, 2, refused(t, err).Attempts, "the attempts may end first")

		// The hold is not bounded.
		require.NoError(t, m.WithLock(t.Context(), "free", func(ctx context.Context) error {
			pass(time.Hour)
			return ctx.Err()
		}, actorlock.Wait(time.Second)))
	})
}

// contract 1.2
func TestContextDeadlineBoundsWaitAndHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		m := newManager(t, inner)
		foreign(inner, "k", lease.NoExpiry)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err := m.WithLock(ctx, "k", never(t), retryForever)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		require.NoError(t, m.WithLock(ctx, "free", func(ctx context.Context) error {
			<-ctx.Done()
			require.Equal(t, time.Second, time.Since(begin))
			require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
			return nil
		}))
	})
}
