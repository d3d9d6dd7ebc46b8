package redisstore

import (
	"strconv"
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
	cluster := redistest.StartCluster(t, 2, false, redistest.Args("--cluster-node-timeout", "60000"))
	second := cluster.Masters[1]
	s := clusterStore(t, cluster.Masters[0])
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

// So it is with two keys.
func TestClusterPairWithAHungServer(t *testing.T) {
	cluster := redistest.StartCluster(t, 2, false, redistest.Args("--cluster-node-timeout", "60000"))
	s := clusterStore(t, cluster.Masters[0])
	var batch [2]lease.Extension
	for i := 0; batch[0].Key == "" || batch[1].Key == ""; i++ {
		key := "key" + strconv.Itoa(i)
		value, _ := take(t, s, key)
		batch[cluster.Of(t, key)] = lease.Extension{Key: key, Value: value, TTL: long}
	}
	require.NoError(t, cluster.Masters[1].Pause())
	start := time.Now()
	var early [2]bool
	s.Extend(brief(t, time.Second), batch[:], func(i int, err error) {
		early[i] = err == nil && time.Since(start) < 500*time.Millisecond
	})
	require.Equal(t, [2]bool{true, false}, early)
	require.NoError(t, cluster.Masters[1].Resume())
}
