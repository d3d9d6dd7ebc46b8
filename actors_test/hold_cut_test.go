package actors_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
)

// contract 3.5, 5.1: connections that are cut in the middle of a batch of
// extensions, whose replies are lost with them, lose no lock: each is asked for
// again, whatever the policy.
func TestHoldManyThroughCutConnections(t *testing.T) {
	t.Parallel()
	const keys, cuts = 512, 3
	srv := redisServer(t)
	proxy := faultproxy.New(t, srv.Addr())
	m := newManager(t, redisStore(t, userClient(t, proxy.Addr())), actorlock.TTL(6*time.Second), actorlock.OnRedisError(actorlock.LoseAtOnce))
	var locks []*actorlock.Lock
	for i := range keys {
		lock, err := m.Acquire(t.Context(), fmt.Sprint("k", i))
		require.NoError(t, err)
		locks = append(locks, lock)
	}
	lost := proxy.DropReplyOf(faultproxy.Containing("\r\n6000\r\n"), cuts) // the TTL
	for range cuts {
		select {
		case <-lost:
		case <-time.After(plenty):
			require.FailNow(t, "no extension", "%v", context.Cause(locks[0].Context()))
		}
	}
	goesOn(t, locks[0].Context())
	goesOn(t, locks[0].Context()) // the others' turn has come by then
	for _, lock := range locks {
		require.NoError(t, lock.Context().Err())
		require.NoError(t, lock.Release(t.Context()))
	}
}
