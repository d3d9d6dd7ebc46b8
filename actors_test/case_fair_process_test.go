package actors_test

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// playCrowd has args[1] nodes of this process wait for args[0], which is held,
// until the process is killed.
func playCrowd(n *node, args []string) error {
	size, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for range size {
		store, err := redisstore.Open("redis://" + n.look.Options().Addr)
		if err != nil {
			return err
		}
		m, err := actorlock.New(actorlock.Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		go func() {
			err := m.WithLock(context.Background(), args[0], nothing, retryForever)
			say("failed: it got the lock, %v", err)
		}()
	}
	<-n.told
	return nil
}

// A crowd of waiters that has died with the holder costs the one who is left no
// more than the holder's TTL and a poll, each time.
//
// contract 2.6
func TestCase_B065(t *testing.T) {
	const ttl, delay = time.Second, 300 * time.Millisecond
	srv := redisServer(t)
	look := srv.Client(t)
	// A holder that would have to be extended might not live to see its crowd.
	require.NoError(t, look.Set(t.Context(), "k", "other/1", 0).Err())
	crowd := spawn(t, "crowd", srv.Addr(), "k", "50")
	require.Eventually(t, func() bool { // fifty nodes take their time on a busy machine
		subs, err := look.PubSubNumSub(t.Context(), "actorlock:wake:k").Result()
		return err == nil && subs["actorlock:wake:k"] == 50
	}, 3*plenty, 20*time.Millisecond, "a crowd")
	m := redisManager(t, srv, retryForever, actorlock.RetryDelay(delay))
	next := queueUp(t, t.Context(), m, "k")
	queued(t, m, "k", 1)
	crowd.kill()
	require.NoError(t, look.PExpire(t.Context(), "k", ttl).Err()) // the holder's last extension
	killed := time.Now()
	next.granted()
	require.Less(t, time.Since(killed), ttl+delay+4*time.Second)

	// Nor does what they have left in Redis hinder hand-overs from then on.
	last := queueUp(t, t.Context(), m, "k")
	queued(t, m, "k", 1)
	released := time.Now()
	next.release()
	last.granted()
	require.Less(t, time.Since(released), delay+4*time.Second)
	last.release()
	require.Zero(t, look.Exists(t.Context(), "k").Val())
}
