package actors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// userOf makes a user with the given rights and a client that logs in as one.
func userOf(t *testing.T, srv *redistest.Server, rights ...any) *redis.Client {
	t.Helper()
	args := append([]any{"acl", "setuser", "app", "reset", "on", ">pw"}, rights...)
	require.NoError(t, srv.Client(t).Do(t.Context(), args...).Err())
	return userClient(t, srv.Addr(), func(o *redis.Options) {
		o.Username, o.Password, o.DisableIdentity = "app", "pw", true
	})
}

var scriptRights = []any{"~*", "+evalsha", "+eval", "+get", "+mget", "+set", "+del", "+exists", "+pexpire", "+pttl", "+time"}

// contract 9.3
func TestWithoutTheRightsForWakeUpsWaitersPoll(t *testing.T) {
	srv := redisServer(t)
	log := quietLogger(t)
	store := func() *redisstore.Store {
		return redisStore(t, userOf(t, srv, append(scriptRights, "resetchannels")...), redisstore.Logger(log.Logger))
	}
	first, second := store(), store()
	a := startManager(t, actorlock.Config{Store: first, Logger: log.Logger})
	b := startManager(t, actorlock.Config{Store: second, Logger: log.Logger})
	for range 3 {
		h := hold(t, a, "k")
		w := start(b, "k", nothing, retryForever, actorlock.RetryDelay(20*time.Millisecond))
		queued(t, b, "k", 1)
		require.NoError(t, h.let(), "a refused PUBLISH fails no release")
		require.NoError(t, w.wait())
	}
	require.Zero(t, srv.Client(t).Exists(t.Context(), "k").Val())
	eventually(t, func() bool { return log.count("no right to subscribe") == 1 }, "said once, by the one that waits")
	require.Equal(t, 2, log.count("refuses to publish"), "said once by each store")
}

// contract 9.3
func TestRightsOfTheScriptsAndOfWakeUpsAreEnough(t *testing.T) {
	srv := redisServer(t)
	rights := append(scriptRights, "&actorlock:wake:*", "+publish", "+subscribe", "+unsubscribe", "+ping")
	client := userOf(t, srv, rights...)
	log := quietLogger(t)
	a := newManager(t, redisStore(t, client, redisstore.Logger(log.Logger)))
	b := newManager(t, redisStore(t, client, redisstore.Logger(log.Logger)))
	h := hold(t, a, "k", actorlock.TTL(300*time.Millisecond))
	w := start(b, "k", nothing, retryForever, actorlock.RetryDelay(time.Hour))
	local := start(a, "k", nothing, retryForever)
	eventually(t, func() bool { return len(srv.Client(t).PubSubChannels(t.Context(), "*").Val()) == 1 })
	l, _ := actorlock.LeaseFrom(h.ctx)
	first := l.Deadline()
	eventually(t, func() bool { l, _ := actorlock.LeaseFrom(h.ctx); return l.Deadline().After(first) }, "an extension")
	require.NoError(t, h.let())
	require.NoError(t, w.wait())
	require.NoError(t, local.wait())
	require.Zero(t, log.count("level=WARN"), log.text())
}

// occupied is a client whose only connection is taken by a command of the
// application, until the returned function is called.
func occupied(t *testing.T, srv *redistest.Server) (client *redis.Client, occupy func() (free func())) {
	t.Helper()
	client = userClient(t, srv.Addr(), func(o *redis.Options) {
		o.PoolSize, o.MaxActiveConns, o.PoolTimeout = 1, 1, 50*time.Millisecond
	})
	return client, func() func() {
		conn := client.Conn()
		require.NoError(t, conn.Ping(context.Background()).Err())
		return func() { require.NoError(t, conn.Close()) }
	}
}

// contract 9.3
func TestExhaustedPoolIsARedisError(t *testing.T) {
	srv := redisServer(t)
	client, occupy := occupied(t, srv)
	m := newManager(t, redisStore(t, client))
	free := occupy()
	err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(1), actorlock.RetryDelay(time.Millisecond))
	require.ErrorIs(t, err, redis.ErrPoolTimeout)
	require.NotErrorIs(t, err, actorlock.ErrHeld)
	require.Equal(t, 2, refused(t, err).Attempts)
	free()

	begin := time.Now()
	err = m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		free = occupy()
		<-ctx.Done()
		return nil
	}, actorlock.TTL(time.Second), actorlock.AwaitCallback())
	var lost *actorlock.LockLostError
	require.ErrorAs(t, err, &lost)
	require.Less(t, time.Since(begin), time.Second, "reported in time: before anybody else can have it")
	free()
}

// contract 9.3
func TestRenewalsTravelApart(t *testing.T) {
	srv := redisServer(t)
	client, occupy := occupied(t, srv)
	m := newManager(t, redisStore(t, client, redisstore.RenewWith(userClient(t, srv.Addr()))))
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		free := occupy()
		defer free()
		l, _ := actorlock.LeaseFrom(ctx)
		first := l.Deadline()
		eventually(t, func() bool {
			l, _ := actorlock.LeaseFrom(ctx)
			return l.Deadline().After(first.Add(500 * time.Millisecond))
		}, "extensions")
		return ctx.Err()
	}, actorlock.TTL(600*time.Millisecond)))

	// A store of its own has connections of their own for them.
	store, err := redisstore.Open(srv.URL() + "?pool_size=1&max_active_conns=1")
	require.NoError(t, err)
	defer store.Close()
	m = newManager(t, store)
	mon := srv.Monitor(t)
	h := hold(t, m, "k", actorlock.TTL(777*time.Millisecond))
	l, _ := actorlock.LeaseFrom(h.ctx)
	first := l.Deadline()
	eventually(t, func() bool { l, _ := actorlock.LeaseFrom(h.ctx); return l.Deadline().After(first) }, "an extension")
	require.NoError(t, h.let())
	require.NoError(t, m.Shutdown(t.Context()))
	connections := map[bool]map[string]bool{true: {}, false: {}}
	for _, line := range mon.ClientLines() {
		origin, command, _ := strings.Cut(line, "] ")
		if strings.HasPrefix(command, `"evalsha"`) {
			connections[strings.HasSuffix(command, ` "777"`)][origin[strings.LastIndex(origin, " "):]] = true
		}
	}
	require.Len(t, connections[true], 1)
	require.NotEmpty(t, connections[false])
	for connection := range connections[true] {
		require.NotContains(t, connections[false], connection)
	}
}
