package actors_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

var errDown = errors.New("the server is down")

// contract 2.8
func TestFailedAttemptsCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		down := leasetest.NewFaulty(deaf{memstore.New()})
		down.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Err: errDown, Kind: lease.NotExecuted}))
		m := newManager(t, down)
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t))
		e := refused(t, err)
		require.Equal(t, 11, e.Attempts)
		require.Equal(t, 11, down.Calls(leasetest.OpAcquire))
		require.ErrorIs(t, err, errDown)
		require.NotErrorIs(t, err, actorlock.ErrHeld)
		require.InDelta(t, 1900*time.Millisecond, time.Since(begin), float64(100*time.Millisecond))

		err = m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
		require.Equal(t, 1, refused(t, err).Attempts)
		require.ErrorIs(t, err, errDown)
		require.NotErrorIs(t, err, actorlock.ErrHeld)
	})
}

// contract 2.8
func TestLockIsGotAfterFailedAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, kind := range []lease.Kind{lease.NotExecuted, lease.Unknown} {
			inner := memstore.New()
			down := leasetest.NewFaulty(inner)
			down.On(leasetest.OpAcquire, leasetest.Times(10, leasetest.Fault{Err: errDown, Kind: kind}))
			m := newManager(t, down)
			require.NoError(t, m.WithLock(t.Context(), "k", nothing), "the eleventh attempt")
			pass(time.Second)
			require.Zero(t, inner.Len())
		}
	})
}

// contract 2.8
func TestTheLastAttemptDecides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		store := leasetest.NewFaulty(deaf{inner})
		m := newManager(t, store)
		store.On(leasetest.OpAcquire, leasetest.Times(5, leasetest.Fault{Err: errDown}))
		err := m.WithLock(t.Context(), "k", never(t))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		require.NotErrorIs(t, err, errDown)

		w := start(m, "k", never(t))
		pass(time.Second)
		store.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Err: errDown}))
		require.ErrorIs(t, w.wait(), errDown)
		require.NotErrorIs(t, w.err, actorlock.ErrHeld)
		require.Empty(t, refused(t, w.err).Holder, "the last attempt saw none")
	})
}

// contract 2.8
func TestErrorsThatCannotHealEndAllWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		store := leasetest.NewFaulty(deaf{inner})
		m := newManager(t, store)
		a := start(m, "k", never(t), retryForever)
		b := start(m, "k", never(t), retryForever)
		pass(time.Second)
		store.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Err: errDown, Kind: lease.Permanent}))
		pass(200 * time.Millisecond)
		for _, c := range []*call{a, b} {
			require.True(t, c.settled())
			require.ErrorIs(t, c.err, errDown)
			require.NotErrorIs(t, c.err, actorlock.ErrHeld)
			refused(t, c.err)
		}
		store.On(leasetest.OpAcquire, nil)
		inner.Delete("k")
		require.NoError(t, m.WithLock(t.Context(), "k", nothing), "the key can be had again")
	})
}

// contract 2.8
func TestServerThatIsDown(t *testing.T) {
	srv := redisServer(t)
	client := userClient(t, srv.Addr(), func(o *redis.Options) { o.MaxRetries = -1; o.DialerRetries = 1 })
	store := newSpy(redisStore(t, client))
	m := newManager(t, store)
	require.NoError(t, srv.Kill())
	err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(3), actorlock.RetryDelay(20*time.Millisecond))
	e := refused(t, err)
	require.Equal(t, 4, e.Attempts)
	require.NotErrorIs(t, err, actorlock.ErrHeld)
	require.ErrorContains(t, err, "refused")

	w := start(m, "k", nothing, retryForever, actorlock.RetryDelay(20*time.Millisecond))
	failed := store.failures() + 2
	eventually(t, func() bool { return store.failures() >= failed })
	require.NoError(t, srv.Restart())
	require.NoError(t, w.wait(), "the server came back")
}

// permanent expects a call with endless patience to end at once.
func permanent(t *testing.T, m *actorlock.Manager, key, text string) {
	t.Helper()
	w := start(m, key, never(t), retryForever, actorlock.RetryDelay(time.Hour))
	err := w.wait()
	e := refused(t, err)
	require.Equal(t, key, e.Key)
	require.Equal(t, 1, e.Attempts)
	require.ErrorContains(t, err, text)
	require.NotErrorIs(t, err, actorlock.ErrHeld)
	require.Equal(t, lease.Permanent, lease.KindOf(err))
	require.Less(t, w.took, plenty)
}

// contract 2.8
func TestWrongPassword(t *testing.T) {
	srv := redisServer(t, redistest.Password("right"))
	for name, text := range map[string]string{"wrong": "WRONGPASS", "": "NOAUTH"} {
		client := userClient(t, srv.Addr(), func(o *redis.Options) { o.Password = name })
		permanent(t, newManager(t, redisStore(t, client)), "k", text)
	}
}

// contract 2.8
func TestKeyOfAnotherType(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	m := redisManager(t, srv)
	require.NoError(t, look.RPush(t.Context(), "list", "v").Err())
	require.NoError(t, look.HSet(t.Context(), "hash", "f", "v").Err())
	for _, key := range []string{"list", "hash"} {
		permanent(t, m, key, "WRONGTYPE")
		_, err := m.Inspect(t.Context(), key)
		require.ErrorContains(t, err, "WRONGTYPE")
	}
	require.Equal(t, "list", look.Type(t.Context(), "list").Val(), "it is left alone")
	require.EqualValues(t, 1, look.LLen(t.Context(), "list").Val())
}

// contract 2.8
func TestMissingPermission(t *testing.T) {
	srv := redisServer(t)
	for user, rights := range map[string][]any{
		"commands": {"~*", "&*", "+@all", "-evalsha", "-eval"},
		"keys":     {"~other:*", "&*", "+@all"},
		"inside":   {"~*", "&*", "+@all", "-set"}, // of the script
	} {
		require.NoError(t, srv.Client(t).Do(t.Context(), append([]any{"acl", "setuser", user, "on", ">pw"}, rights...)...).Err())
		client := userClient(t, srv.Addr(), func(o *redis.Options) { o.Username, o.Password = user, "pw" })
		permanent(t, newManager(t, redisStore(t, client)), "k", "acquire")
	}
}
