package actors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 2.11
func TestAcquireErrorNamesTheHolder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		m := newManager(t, inner)
		for value, holder := range map[string]string{
			"node-7/abc":                    "node-7",
			"a/b/c":                         "a/b",
			"no slash":                      "",
			"":                              "",
			"/x":                            "",
			strings.Repeat("n", 9999) + "/": strings.Repeat("n", 256),
		} {
			inner.Steal("k", value, time.Minute)
			err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(2), actorlock.RetryDelay(time.Second))
			e := refused(t, err)
			require.Equal(t, "k", e.Key)
			require.Equal(t, holder, e.Holder)
			require.Equal(t, 3, e.Attempts)
			require.InDelta(t, 2*time.Second, e.Waited, float64(200*time.Millisecond))
			require.Equal(t, time.Minute-e.Waited, e.TTL, "as the last attempt saw it")
			require.True(t, e.Err == actorlock.ErrHeld)
			require.ErrorContains(t, err, `"k"`)
			require.ErrorContains(t, err, "attempts: 3")
			if holder != "" {
				require.ErrorContains(t, err, holder)
			}
		}
	})
}

// contract 2.11
func TestAcquireErrorOfAKeyWithoutExpiry(t *testing.T) {
	inner := memstore.New()
	inner.Steal("k", "node/1", lease.NoExpiry)
	err := newManager(t, inner).WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
	require.Equal(t, actorlock.NoExpiry, refused(t, err).TTL)
	require.ErrorContains(t, err, "no expiry")
}

// contract 2.11
func TestAcquireErrorWhenNothingWasSeen(t *testing.T) {
	down := leasetest.NewFaulty(memstore.New())
	down.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Err: errDown}))
	err := newManager(t, down).WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
	e := refused(t, err)
	require.Zero(t, e.TTL)
	require.Empty(t, e.Holder)
}

// contract 2.11
// contract 2.1
func TestPrefixIsTheManagersOwnBusiness(t *testing.T) {
	inner := memstore.New()
	store := newSpy(inner)
	m := startManager(t, actorlock.Config{Store: store, Prefix: "app:"})
	plain := newManager(t, inner)
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		require.Equal(t, "app:k", store.attempts()[0].request.Key)
		l, _ := actorlock.LeaseFrom(ctx)
		require.Equal(t, "k", l.Key)
		err := m.WithLock(context.Background(), "k", never(t), actorlock.RetryAttempts(0))
		require.Equal(t, "k", refused(t, err).Key)
		require.NotContains(t, err.Error(), "app:")

		require.NoError(t, plain.WithLock(t.Context(), "k", nothing, actorlock.RetryAttempts(0)), "another key")
		err = plain.WithLock(t.Context(), "app:k", never(t), actorlock.RetryAttempts(0))
		require.Equal(t, "app:k", refused(t, err).Key)
		return nil
	}))
	require.Equal(t, "app:k", store.releases()[0].Key)
}

// contract 2.11
// contract 2.5
func TestAcquireErrorBehindACallOfTheSameNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := startManager(t, actorlock.Config{Node: "here"})
		h := hold(t, m, "k", actorlock.TTL(time.Minute))
		err := m.WithLock(t.Context(), "k", never(t))
		e := refused(t, err)
		require.ErrorIs(t, err, actorlock.ErrHeld)
		require.Equal(t, 11, e.Attempts)
		require.Equal(t, "here", e.Holder)
		require.Greater(t, e.TTL, 50*time.Second)
		require.NoError(t, h.let())
	})
}
