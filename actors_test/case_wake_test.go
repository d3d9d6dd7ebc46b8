package actors_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/internal/redistest"
)

// rarely is a RetryDelay with which only a wake-up can be in time.
const rarely = time.Minute

// subscribed waits until the server has n subscriptions to wake-ups of key.
func subscribed(t *testing.T, look *redis.Client, key string, n int64) {
	t.Helper()
	channel := "actorlock:wake:" + key
	eventually(t, func() bool {
		subs, err := look.PubSubNumSub(t.Context(), channel).Result()
		return err == nil && subs[channel] == n
	}, "subscriptions")
}

// A release in the window between a waiter's failed attempt and its
// subscription is not missed.
//
// contract 2.6
func TestCase_B054(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	proxy := faultproxy.New(t, srv.Addr())
	holder := redisManager(t, srv)
	slow := newManager(t, redisStore(t, userClient(t, proxy.Addr())), retryForever)
	h := hold(t, holder, "k")
	stalled := proxy.StallRequestOf(faultproxy.Containing("\r\nsubscribe\r\n"), 1, 2*time.Second)
	w := start(slow, "k", nothing, actorlock.RetryDelay(rarely))
	<-stalled
	released := time.Now()
	require.NoError(t, h.let())
	require.Empty(t, look.PubSubChannels(t.Context(), "*").Val(), "not subscribed yet")
	require.NoError(t, w.wait())
	require.Less(t, time.Since(released), rarely/3)
}

// Subscriptions that are killed, and a server that restarts, cost no waiter its
// wake-up.
//
// contract 2.6
func TestCase_B056(t *testing.T) {
	srv := redisServer(t, redistest.Persist())
	look := srv.Client(t)
	holder := redisManager(t, srv, actorlock.TTL(30*time.Second))
	waiting := redisManager(t, srv, retryForever, actorlock.RetryDelay(rarely))
	for name, disturb := range map[string]func(){
		"kill": func() {
			n, err := look.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		},
		"restart": func() { require.NoError(t, srv.Restart()) },
	} {
		h := hold(t, holder, "k")
		var calls []*call
		for range 5 {
			calls = append(calls, start(waiting, "k", nothing))
		}
		queued(t, waiting, "k", 5)
		subscribed(t, look, "k", 1)
		disturb()
		subscribed(t, look, "k", 1)
		released := time.Now()
		require.NoError(t, h.let())
		for _, c := range calls {
			require.NoError(t, c.wait())
		}
		require.Less(t, time.Since(released), rarely/3, name)
	}
}

// A holder that is killed sends no message, and the next poll is far away: its
// waiter elsewhere knows when the key expires.
//
// contract 2.6
func TestCase_B055(t *testing.T) { entersAfterKill(t, rarely) }
