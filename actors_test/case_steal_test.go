package actors_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease/memstore"
)

// releaseOf matches the release of key: it alone carries the channel.
func releaseOf(key string) func([]byte) bool {
	return faultproxy.Containing("actorlock:wake:" + key)
}

// The owner changes between the decision to release and the release.
func TestCase_B035(t *testing.T) {
	const ttl = 900 * time.Millisecond
	srv := redisServer(t)
	look := srv.Client(t)
	proxy := faultproxy.New(t, srv.Addr())
	a := newManager(t, redisStore(t, userClient(t, proxy.Addr())))
	require.NoError(t, a.WithLock(t.Context(), "k", nothing)) // the scripts are known

	monitor := srv.Monitor(t)
	one := holding(t, t.Context(), a, "k")
	sent := len(monitor.ClientLines())
	one.release()
	lines := monitor.ClientLines()[sent:]
	require.Len(t, lines, 1, "one command compares and deletes")
	require.Contains(t, strings.ToLower(lines[0]), `"evalsha"`)

	b := redisManager(t, srv, retryForever)
	one = holding(t, t.Context(), a, "k", actorlock.TTL(ttl))
	// The client waits for longer than that.
	stalled := proxy.StallRequestOf(releaseOf("k"), 1, 2*time.Second)
	one.settle(0, nil)
	<-stalled
	two := holding(t, t.Context(), b, "k")
	value := look.Get(t.Context(), "k").Val()
	_, err := one.outcome()
	require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseTaken)
	require.NoError(t, proxy.AwaitStalled(t.Context()))
	require.Equal(t, value, look.Get(t.Context(), "k").Val(), "the new owner's key stays")
	require.NoError(t, two.ctx.Err())
	two.release()
}

// A lock expires, another node gets it, and the first callback ends.
func TestCase_B036(t *testing.T) {
	const ttl = 300 * time.Millisecond
	srv := redisServer(t)
	look := srv.Client(t)
	proxy := faultproxy.New(t, srv.Addr())
	a := newManager(t, redisStore(t, userClient(t, proxy.Addr())), actorlock.TTL(ttl))
	b := redisManager(t, srv, retryForever)
	for name, opts := range map[string][]actorlock.Option{"at once": nil, "await": {actorlock.AwaitCallback()}} {
		t.Run(name, func(t *testing.T) {
			one := holding(t, t.Context(), a, "k", opts...)
			proxy.BlackHole(true)
			two := holding(t, t.Context(), b, "k")
			value := look.Get(t.Context(), "k").Val()
			proxy.Heal()
			one.settle(7, nil)
			_, err := one.outcome()
			lockLost(t, err)
			// What the end of the callback had sent is there before the next command.
			require.ErrorIs(t, a.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0)), actorlock.ErrHeld)
			require.Equal(t, value, look.Get(t.Context(), "k").Val())
			require.NoError(t, two.ctx.Err())
			two.release()
		})
	}
	t.Run("unnoticed", func(t *testing.T) {
		one := holding(t, t.Context(), a, "k", actorlock.TTL(time.Minute)) // no renewal finds out
		require.NoError(t, look.Del(t.Context(), "k").Err())
		two := holding(t, t.Context(), b, "k")
		value := look.Get(t.Context(), "k").Val()
		one.settle(7, nil)
		got, err := one.outcome()
		require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseTaken)
		require.Equal(t, 7, got)
		require.Equal(t, value, look.Get(t.Context(), "k").Val())
		two.release()
	})
}

// Two nodes have the same name.
func TestCase_B039(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		var nodes [2]*actorlock.Manager
		for i := range nodes {
			nodes[i] = startManager(t, actorlock.Config{Store: mem, Node: "same", Defaults: []actorlock.Option{actorlock.TTL(time.Second)}})
		}
		one := holding(t, t.Context(), nodes[0], "k")
		err := nodes[1].WithLock(t.Context(), "k", never(t))
		require.ErrorIs(t, err, actorlock.ErrHeld)
		require.Equal(t, "same", refused(t, err).Holder)
		mem.Delete("k")
		two := holding(t, t.Context(), nodes[1], "k")
		_, err = one.outcome()
		require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseTaken, "its own name, but not its value")
		one.settle(0, nil)
		time.Sleep(5 * time.Second)
		require.NoError(t, two.ctx.Err())
		two.release()

		inside, count := 0, 0
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				for range 10 {
					if err := nodes[i%2].WithLock(t.Context(), "k", func(context.Context) error {
						if inside++; inside != 1 {
							t.Error("two at a time")
						}
						time.Sleep(time.Millisecond)
						inside--
						count++
						return nil
					}, retryForever); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, 400, count)
	})
}
