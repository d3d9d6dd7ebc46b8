package redistest

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Cluster is a Redis Cluster whose masters have equal shares of the slots.
type Cluster struct {
	Masters  []*Server
	Replicas []*Server // one of each master, in their order, or none
	ids      map[*Server]string
}

const clusterSlots = 16384

// StartCluster runs a cluster until the test ends and returns when all its nodes
// agree that it is up. The options are for every node.
func StartCluster(t testing.TB, masters int, replicas bool, opts ...Option) *Cluster {
	t.Helper()
	c := &Cluster{ids: map[*Server]string{}}
	opts = append([]Option{replication, Args("--cluster-enabled", "yes")}, opts...)
	for i := range masters {
		s := Start(t, opts...)
		look := s.Client(t)
		c.Masters = append(c.Masters, s)
		must(t, look.ClusterAddSlotsRange(t.Context(), i*clusterSlots/masters, (i+1)*clusterSlots/masters-1).Err())
		// Numbers of their own before they meet, or one would give way.
		must(t, look.Do(t.Context(), "cluster", "set-config-epoch", i+1).Err())
	}
	if replicas {
		for range masters {
			c.Replicas = append(c.Replicas, Start(t, opts...))
		}
	}
	for _, s := range c.nodes() {
		look := s.Client(t)
		id, err := look.ClusterMyID(t.Context()).Result()
		must(t, err)
		c.ids[s] = id
		// Gossip would introduce them all to each other, slowly.
		for _, other := range c.nodes() {
			host, port, _ := strings.Cut(other.Addr(), ":")
			must(t, look.ClusterMeet(t.Context(), host, port).Err())
		}
	}
	c.agree(t, "the nodes have met", func(nodes string) bool {
		return strings.Count(nodes, " connected") == len(c.ids) && !strings.Contains(nodes, "handshake")
	})
	for i, s := range c.Replicas {
		must(t, s.Client(t).ClusterReplicate(t.Context(), c.ids[c.Masters[i]]).Err())
	}
	for i := range c.Replicas {
		AwaitReplicas(t, c.Masters[i], 1)
	}
	c.agree(t, "all are in their places", func(nodes string) bool {
		return strings.Count(nodes, "slave ") == len(c.Replicas)
	})
	for _, s := range c.nodes() {
		look := s.Client(t)
		await(t, "the cluster is up", func(ctx context.Context) bool {
			return strings.Contains(look.ClusterInfo(ctx).Val(), "cluster_state:ok")
		})
	}
	return c
}

func (c *Cluster) nodes() []*Server { return append(append([]*Server{}, c.Masters...), c.Replicas...) }

// agree waits until the view that each node has of the others is as wanted.
func (c *Cluster) agree(t testing.TB, what string, wanted func(nodes string) bool) {
	t.Helper()
	for _, s := range c.nodes() {
		look := s.Client(t)
		await(t, what, func(ctx context.Context) bool { return wanted(look.ClusterNodes(ctx).Val()) })
	}
}

// Client returns a client of an application, with go-redis' defaults but for
// what change sets. It is closed when the test ends.
func (c *Cluster) Client(t testing.TB, change ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	t.Helper()
	var addrs []string
	for _, s := range c.nodes() {
		addrs = append(addrs, s.Addr())
	}
	opt := &redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true}
	for _, set := range change {
		set(opt)
	}
	client := redis.NewClusterClient(opt)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Of returns the number of the master that had the slot of key at the start.
func (c *Cluster) Of(t testing.TB, key string) int {
	t.Helper()
	slot := c.Slot(t, key)
	for i := range c.Masters {
		if slot < (i+1)*clusterSlots/len(c.Masters) {
			return i
		}
	}
	panic("no such slot")
}

// Slot returns the slot of key.
func (c *Cluster) Slot(t testing.TB, key string) int {
	t.Helper()
	slot, err := c.Masters[0].Client(t).ClusterKeySlot(t.Context(), key).Result()
	must(t, err)
	return int(slot)
}

// Migration is the move of one slot from a master to another, step by step.
type Migration struct {
	cluster  *Cluster
	from, to int
	slot     int
}

// Migrate begins to move a slot: keys that are not there yet go to the new master.
func (c *Cluster) Migrate(t testing.TB, slot, from, to int) *Migration {
	t.Helper()
	must(t, c.Masters[to].Client(t).Do(t.Context(), "cluster", "setslot", slot, "importing", c.ids[c.Masters[from]]).Err())
	must(t, c.Masters[from].Client(t).Do(t.Context(), "cluster", "setslot", slot, "migrating", c.ids[c.Masters[to]]).Err())
	return &Migration{cluster: c, slot: slot, from: from, to: to}
}

// Move moves one key.
func (m *Migration) Move(t testing.TB, key string) {
	t.Helper()
	host, port, _ := strings.Cut(m.cluster.Masters[m.to].Addr(), ":")
	must(t, m.cluster.Masters[m.from].Client(t).Do(t.Context(), "migrate", host, port, key, 0, 1000).Err())
}

// Finish moves the keys that are left and gives the slot to its new master.
func (m *Migration) Finish(t testing.TB) {
	t.Helper()
	from, to := m.cluster.Masters[m.from], m.cluster.Masters[m.to]
	for {
		keys, err := from.Client(t).ClusterGetKeysInSlot(t.Context(), m.slot, 100).Result()
		must(t, err)
		if len(keys) == 0 {
			break
		}
		for _, key := range keys {
			m.Move(t, key)
		}
	}
	for _, s := range []*Server{to, from} {
		must(t, s.Client(t).Do(t.Context(), "cluster", "setslot", m.slot, "node", m.cluster.ids[to]).Err())
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
}
