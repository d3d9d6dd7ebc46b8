package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
)

// needed is what the package documentation asks a server for.
const needed = "+evalsha +eval +get +mget +set +del +exists +pexpire +pttl +time"

func limited(t *testing.T, server *redistest.Server, rights string, opts ...Option) *Store {
	t.Helper()
	args := []any{"acl", "setuser", "app", "reset", "on", ">pw"}
	for _, right := range strings.Fields(rights) {
		args = append(args, right)
	}
	require.NoError(t, server.Client(t).Do(t.Context(), args...).Err())
	return openURL(t, "redis://app:pw@"+server.Addr(), opts...)
}

// cycle is everything that a store does with a key.
func cycle(t *testing.T, s *Store, key, origin string) {
	t.Helper()
	value, _ := take(t, s, key)
	at, err := s.Acquire(t.Context(), lease.Acquisition{Key: key, Value: "b/1", TTL: long, Origin: "b", Mark: long})
	require.NoError(t, err)
	require.False(t, at.Acquired)
	waiting, err := s.Contended(t.Context(), key, "a")
	require.NoError(t, err)
	require.True(t, waiting)
	require.True(t, try(t, s, key, value).Acquired)
	require.NoError(t, extend(t.Context(), s, lease.Extension{Key: key, Value: value, TTL: long}))
	first, err := s.Reserve(t.Context(), lease.Reservation{Key: key, Value: value, Tokens: 4, TTL: long})
	require.NoError(t, err)
	_, err = s.Inspect(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, release(t.Context(), s, lease.Release{
		Key: key, Value: value, Origin: origin, Certain: true, Used: first, Reserved: first + 3,
	}))
	_, err = s.Reserve(t.Context(), lease.Reservation{Key: key, Value: value, Tokens: 4})
	require.ErrorIs(t, err, lease.ErrLeaseGone)
	require.Equal(t, first, storedTokenOf(t, s, key))
}

func storedTokenOf(t *testing.T, s *Store, key string) uint64 {
	t.Helper()
	n, err := s.main.client.Get(t.Context(), fenceKey(key)).Uint64()
	require.NoError(t, err)
	return n
}

func TestNeededRights(t *testing.T) {
	server := redistest.Start(t)
	var l log
	s := limited(t, server, needed+" ~app:* ~{app:*}:actorlock-*", l.option())
	s.hub.pingEvery = 50 * time.Millisecond
	var w wakes
	defer s.Watch("app:1", w.wake)()
	for range 3 {
		cycle(t, s, "app:1", "origin")
	}
	eventually(t, func() bool { return l.count("no right to subscribe") > 0 }, "it says so")
	s.Watch("app:2", w.wake)()
	time.Sleep(300 * time.Millisecond)
	require.Equal(t, 1, l.count("no right to subscribe"), "once")
	require.Equal(t, 1, l.count("refuses to publish"), "once")
	require.Zero(t, w.count("origin"))
}

// The right to ping may be missing where that to subscribe is there.
func TestRightsForWakeUps(t *testing.T) {
	for _, ping := range []string{"", " +ping"} {
		server := redistest.Start(t)
		var l log
		s := limited(t, server, needed+" +publish +subscribe +unsubscribe ~* &actorlock:wake:*"+ping, l.option())
		s.hub.pingEvery = 50 * time.Millisecond
		w := watching(t, s, "key")
		time.Sleep(300 * time.Millisecond)
		require.Equal(t, 1, w.count(""), "one connection")
		cycle(t, s, "key", "origin")
		eventually(t, func() bool { return w.count("origin") > 0 }, "woken")
		require.Zero(t, l.count("WARN"))
	}
}

func TestMissingRights(t *testing.T) {
	server := redistest.Start(t)
	for _, rights := range []string{
		strings.ReplaceAll(needed, "+evalsha", "") + " ~*",
		strings.ReplaceAll(needed, "+mget", "") + " ~*",
		strings.ReplaceAll(needed, "+set", "") + " ~*",
		needed + " ~other",
	} {
		s := limited(t, server, rights)
		_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long, Fence: true})
		require.Equal(t, lease.Permanent, kindOf(t, err), "%v", err)
		require.Zero(t, server.Client(t).Exists(t.Context(), "key").Val())
	}
	s := limited(t, server, strings.ReplaceAll(needed, "+get", "")+" ~*")
	value, _ := take(t, s, "key")
	require.Equal(t, lease.Permanent, kindOf(t, extend(t.Context(), s, lease.Extension{Key: "key", Value: value, TTL: long})))
	require.Equal(t, lease.Permanent, kindOf(t, release(t.Context(), s, lease.Release{Key: "key", Value: value})))
}
