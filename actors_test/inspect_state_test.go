package actors_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 10.4: held or free, holder, remaining time, token, local waiters.
func TestInspect(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := startManager(t, actorlock.Config{Store: f, Node: "here", Prefix: "p:"})
		other := startManager(t, actorlock.Config{Store: f, Node: "there", Prefix: "p:"})
		look := func(m *actorlock.Manager, key string) actorlock.Info {
			info, err := m.Inspect(t.Context(), key)
			require.NoError(t, err)
			return info
		}
		require.Equal(t, actorlock.Info{}, look(m, "k"))
		h := holding(t, t.Context(), m, "k", actorlock.TTL(time.Minute))
		time.Sleep(time.Second)
		want := actorlock.Info{Held: true, Holder: "here", TTL: 59 * time.Second, Token: h.token()}
		require.Equal(t, want, look(m, "k"))
		for range 3 {
			queueUp(t, t.Context(), m, "k", actorlock.RetryAttempts(forever))
		}
		time.Sleep(time.Millisecond)
		want.Waiters, want.TTL = 3, want.TTL-time.Millisecond
		require.Equal(t, want, look(m, "k"))
		want.Waiters, want.Token = 0, 0 // of another node's lock it is not known
		require.Equal(t, want, look(other, "k"))

		mem.Steal("p:endless", "text without a node", 0)
		require.Equal(t, actorlock.Info{Held: true, TTL: actorlock.NoExpiry}, look(m, "endless"))
		plain := holding(t, t.Context(), m, "plain", actorlock.Fencing(false))
		require.Zero(t, look(m, "plain").Token)
		require.Equal(t, 3, f.Calls(leasetest.OpAcquire)+f.Calls(leasetest.OpExtend)+1, "it touches nothing")
		plain.release()
	})
}

// contract 10.4: an empty key, and what the store fails with.
func TestInspectErrors(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		_, err := m.Inspect(t.Context(), "")
		require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
		require.ErrorContains(t, err, "key")
		f.On(leasetest.OpInspect, leasetest.Always(leasetest.Fault{Err: io.EOF}))
		_, err = m.Inspect(t.Context(), "k")
		require.ErrorIs(t, err, io.EOF)
		f.On(leasetest.OpInspect, leasetest.Always(leasetest.Fault{Hang: true}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err = m.Inspect(ctx, "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

// contract 10.4: a key of another type is an error.
func TestInspectInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	m := redisManager(t, srv)
	require.NoError(t, other.RPush(t.Context(), "list", "x").Err())
	_, err := m.Inspect(t.Context(), "list")
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NoError(t, other.Set(t.Context(), "k", "another-node/0123", time.Minute).Err())
	info, err := m.Inspect(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, info.Held)
	require.Equal(t, "another-node", info.Holder)
	require.InDelta(t, time.Minute, info.TTL, float64(10*time.Second))
	require.Zero(t, info.Token)
}

// contract 9.2: a store that panics is an error of that command.
func TestInspectOfAStoreThatPanics(t *testing.T) {
	f := leasetest.NewFaulty(memstore.New())
	f.On(leasetest.OpInspect, leasetest.Always(leasetest.Fault{Panic: "ouch"}))
	m := newManager(t, f)
	_, err := m.Inspect(t.Context(), "k")
	require.ErrorContains(t, err, "ouch")
}

// contract 10.4: the token is that of the lock that is seen, 0 when that is
// another's.
func TestInspectOfAStolenKeyShowsNoTokenOfOurs(t *testing.T) {
	mem := memstore.New()
	m := newManager(t, mem)
	h := hold(t, m, "k")
	info, err := m.Inspect(t.Context(), "k")
	require.NoError(t, err)
	require.NotZero(t, info.Token)
	foreign(mem, "k", time.Minute)
	info, err = m.Inspect(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, actorlock.Info{Held: true, Holder: "other", TTL: info.TTL}, info)
	require.ErrorIs(t, h.let(), actorlock.ErrLeaseTaken)
	info, err = m.Inspect(t.Context(), "k")
	require.NoError(t, err)
	require.Zero(t, info.Token)
}
