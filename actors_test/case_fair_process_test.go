package actors_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// playCrowd holds args[0] with the TTL args[1] while args[2] nodes of this
// process wait for it, until the process is killed.
func playCrowd(n *node, args []string) error {
	ttl, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	return n.WithLock(context.Background(), args[0], func(ctx context.Context) error {
		began := make(chan error, size)
		for range size {
			go func() { began <- waitInVain(n.look.Options().Addr, args[0]) }()
		}
		for range size {
			if err := <-began; err != nil {
				return err
			}
		}
		say("waiting")
		<-ctx.Done()
		return context.Cause(ctx)
	}, actorlock.TTL(ttl))
}

// waitInVain makes a node that waits for key from when it has returned on.
func waitInVain(addr, key string) error {
	store, err := redisstore.Open("redis://" + addr)
	if err != nil {
		return err
	}
	m, err := actorlock.New(actorlock.Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- m.WithLock(context.Background(), key, func(context.Context) error { return errors.New("it got the lock") }, retryForever)
	}()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		info, err := m.Inspect(context.Background(), key)
		if err != nil || info.Waiters == 1 {
			return err
		}
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
	}
}

// A crowd of waiters that has died with the holder costs the one who is left no
// more than the holder's TTL and a poll, each time.
//
// contract 2.6
func TestCase_B065(t *testing.T) {
	const ttl, delay = 5 * time.Second, 300 * time.Millisecond
	srv := redisServer(t)
	crowd := spawn(t, "crowd", srv.Addr(), "k", ttl.String(), "50")
	crowd.hear("waiting")
	m := redisManager(t, srv, retryForever, actorlock.RetryDelay(delay))
	next := queueUp(t, t.Context(), m, "k")
	queued(t, m, "k", 1)
	crowd.kill()
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
	require.Zero(t, srv.Client(t).Exists(t.Context(), "k").Val())
}
