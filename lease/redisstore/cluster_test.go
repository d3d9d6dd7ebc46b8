package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
)

func clusterStore(t *testing.T, server *redistest.Server) *Store {
	t.Helper()
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr()}, ContextTimeoutEnabled: true})
	s := New(c)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, c.Close())
	})
	return s
}

func TestClusterConformance(t *testing.T) {
	server := startCluster(t)
	leasetest.Exercise(t, func(t *testing.T) lease.Store { return clusterStore(t, server) })
	require.Zero(t, server.Calls(t)["command"], "the client had to ask where keys are in a command")
}

// A server of a cluster that hangs delays the verdicts of its own keys alone.
func TestClusterBatchWithAHungServer(t *testing.T) {
	first, second := clusterOfTwo(t)
	s := clusterStore(t, first)
	var batch []lease.Extension
	var slow int
	for i := range 600 {
		key := "key" + string(rune('a'+i%26)) + time.Duration(i).String()
		value, _ := take(t, s, key)
		batch = append(batch, lease.Extension{Key: key, Value: value, TTL: long})
		if slotOf(key) >= slots/2 {
			slow++
		}
	}
	require.NoError(t, second.Pause())
	start := time.Now()
	var early, failed int
	s.Extend(brief(t, time.Second), batch, func(i int, err error) {
		switch {
		case err == nil && time.Since(start) < 500*time.Millisecond:
			early++
		case err != nil:
			require.GreaterOrEqual(t, slotOf(batch[i].Key), uint16(slots/2))
			failed++
		}
	})
	require.Less(t, time.Since(start), 2*time.Second)
	require.Equal(t, slow, failed)
	require.Equal(t, len(batch)-slow, early)
	require.NoError(t, second.Resume())
}

// clusterOfTwo runs two servers that have half of the slots each.
func clusterOfTwo(t *testing.T) (first, second *redistest.Server) {
	t.Helper()
	var servers [2]*redistest.Server
	for i := range servers {
		servers[i] = redistest.Start(t, redistest.Args("--cluster-enabled", "yes", "--cluster-node-timeout", "60000"))
		low, high := i*slots/2, (i+1)*slots/2-1
		require.NoError(t, servers[i].Client(t).ClusterAddSlotsRange(t.Context(), low, high).Err())
	}
	c := servers[0].Client(t)
	// Both need numbers of their own before they meet, or one gives way.
	require.NoError(t, servers[1].Client(t).Do(t.Context(), "cluster", "set-config-epoch", 2).Err())
	require.NoError(t, c.Do(t.Context(), "cluster", "set-config-epoch", 1).Err())
	host, port := splitAddr(t, servers[1].Addr())
	require.NoError(t, c.ClusterMeet(t.Context(), host, port).Err())
	for _, server := range servers {
		look := server.Client(t)
		eventually(t, func() bool {
			info := look.ClusterInfo(t.Context()).Val()
			nodes, err := look.ClusterSlots(t.Context()).Result()
			return err == nil && len(nodes) == 2 && len(info) > 16 && info[:16] == "cluster_state:ok"
		}, "the cluster forms")
	}
	return servers[0], servers[1]
}
