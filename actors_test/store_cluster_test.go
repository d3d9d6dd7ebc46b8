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
)

// clusterPair runs two servers that have half of the slots each.
func clusterPair(t *testing.T) [2]*redistest.Server {
	t.Helper()
	var pair [2]*redistest.Server
	for i := range pair {
		pair[i] = redisServer(t, redistest.Args("--cluster-enabled", "yes", "--cluster-node-timeout", "60000"))
		look := pair[i].Client(t)
		require.NoError(t, look.ClusterAddSlotsRange(t.Context(), i*8192, i*8192+8191).Err())
		// Numbers of their own before they meet, or one would give way.
		require.NoError(t, look.Do(t.Context(), "cluster", "set-config-epoch", i+1).Err())
	}
	host, port, _ := strings.Cut(pair[1].Addr(), ":")
	require.NoError(t, pair[0].Client(t).ClusterMeet(t.Context(), host, port).Err())
	for _, srv := range pair {
		look := srv.Client(t)
		eventually(t, func() bool {
			slots, err := look.ClusterSlots(t.Context()).Result()
			return err == nil && len(slots) == 2 && strings.Contains(look.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
		}, "the cluster forms")
	}
	return pair
}

// contract 9.2
func TestHeldLockSurvivesTheMoveOfItsSlot(t *testing.T) {
	pair := clusterPair(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{pair[0].Addr()}, ContextTimeoutEnabled: true})
	defer client.Close()
	m := newManager(t, redisStore(t, client))

	const key = "moves"
	look := [2]*redis.Client{pair[0].Client(t), pair[1].Client(t)}
	ctx := context.Background()
	slot := look[0].ClusterKeySlot(ctx, key).Val()
	from, to := int(slot/8192), 1-int(slot/8192)
	ids := [2]string{}
	for i := range ids {
		ids[i] = look[i].Do(ctx, "cluster", "myid").Val().(string)
	}

	h := hold(t, m, key, actorlock.TTL(900*time.Millisecond))
	extended := func() {
		t.Helper()
		l, _ := actorlock.LeaseFrom(h.ctx)
		before := l.Deadline()
		eventually(t, func() bool { l, _ := actorlock.LeaseFrom(h.ctx); return l.Deadline().After(before) }, "an extension")
		require.NoError(t, h.ctx.Err())
	}
	extended()
	require.NoError(t, look[to].Do(ctx, "cluster", "setslot", slot, "importing", ids[from]).Err())
	require.NoError(t, look[from].Do(ctx, "cluster", "setslot", slot, "migrating", ids[to]).Err())
	extended() // the lock is not moved yet
	host, port, _ := strings.Cut(pair[to].Addr(), ":")
	require.NoError(t, look[from].Do(ctx, "migrate", host, port, key, 0, 1000).Err())
	extended() // the lock has moved, its fence has not
	for _, rest := range look[from].ClusterGetKeysInSlot(ctx, int(slot), 10).Val() {
		require.NoError(t, look[from].Do(ctx, "migrate", host, port, rest, 0, 1000).Err())
	}
	for _, i := range []int{to, from} {
		require.NoError(t, look[i].Do(ctx, "cluster", "setslot", slot, "node", ids[to]).Err())
	}
	extended()
	require.NoError(t, h.let())
	require.Zero(t, look[to].Exists(ctx, key).Val())
	require.NoError(t, m.WithLock(t.Context(), key, nothing))
	require.NoError(t, m.Shutdown(t.Context()))
}
