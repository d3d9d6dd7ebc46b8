package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
)

// primary runs a server with replicas.
func primary(t *testing.T, n int) (server *redistest.Server, replicas []*redistest.Server) {
	t.Helper()
	quick := redistest.Args("--repl-diskless-sync-delay", "0")
	server = redistest.Start(t, quick)
	for range n {
		replicas = append(replicas, redistest.Start(t, quick, redistest.ReplicaOf(server.Addr())))
	}
	redistest.AwaitReplicas(t, server, n)
	return server, replicas
}

// refusedFor makes an attempt that must be undone for want of replicas.
func refusedFor(t *testing.T, s *Store, ctx context.Context, ttl time.Duration) error {
	t.Helper()
	_, err := s.Acquire(ctx, lease.Acquisition{Key: "key", Value: "a/1", TTL: ttl, Fence: true})
	require.ErrorIs(t, err, lease.ErrTooFewReplicas)
	require.Equal(t, lease.NotExecuted, kindOf(t, err), "it may be tried again")
	return err
}

func TestMinReplicasConformance(t *testing.T) {
	server, _ := primary(t, 2)
	leasetest.Exercise(t, func(t *testing.T) lease.Store { return open(t, server, MinReplicas(2)) })
}

func TestMinReplicasAreThere(t *testing.T) {
	server, replicas := primary(t, 2)
	for _, n := range []int{1, 2} {
		s := open(t, server, MinReplicas(n))
		value, _ := take(t, s, "key")
		have := 0
		for _, r := range replicas {
			if r.Client(t).Get(t.Context(), "key").Val() == value {
				have++
			}
		}
		require.GreaterOrEqual(t, have, n, "right after the acquire, without waiting")
		require.NoError(t, release(t.Context(), s, lease.Release{Key: "key", Value: value}))
	}
}

func TestMinReplicasMissing(t *testing.T) {
	server, replicas := primary(t, 2)
	two, one := open(t, server, MinReplicas(2)), open(t, server, MinReplicas(1))
	require.NoError(t, replicas[0].Pause())
	for _, ctx := range []context.Context{lease.Patiently(t.Context()), brief(t, long)} {
		begin := time.Now()
		err := refusedFor(t, two, ctx, 600*time.Millisecond)
		require.ErrorContains(t, err, "of 2")
		require.GreaterOrEqual(t, time.Since(begin), 200*time.Millisecond, "a third of the TTL")
		require.Zero(t, server.Client(t).Exists(t.Context(), "key").Val(), "undone")
	}
	value, _ := take(t, one, "key")
	at := try(t, two, "key", "b/1")
	require.False(t, at.Acquired, "held is held, replicas or not")
	require.Equal(t, "node", at.Holder)
	require.NoError(t, release(t.Context(), one, lease.Release{Key: "key", Value: value}))
	require.NoError(t, replicas[0].Resume())
	eventually(t, func() bool {
		at, err := two.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
		return err == nil && at.Acquired
	}, "the replica is back")
}

func TestMinReplicasOfAServerWithout(t *testing.T) {
	server := redistest.Start(t)
	refusedFor(t, open(t, server, MinReplicas(1)), t.Context(), 300*time.Millisecond)
	require.Zero(t, server.Client(t).Exists(t.Context(), "key").Val())
	off := open(t, server, MinReplicas(0))
	take(t, off, "warm up")
	server.ResetCalls(t)
	take(t, off, "key")
	require.Zero(t, server.Calls(t)["wait"])
	require.Equal(t, 1, server.Calls(t)["evalsha"], "it costs nothing when it is off")
}

// The client's own time-out does not cut the waiting off.
func TestMinReplicasWithAnImpatientClient(t *testing.T) {
	server := redistest.Start(t)
	s := openURL(t, server.URL()+"?read_timeout=200ms", MinReplicas(1))
	refusedFor(t, s, t.Context(), long)
	require.Zero(t, server.Client(t).Exists(t.Context(), "key").Val())
}

// A caller that leaves while replicas are waited for leaves nothing behind.
func TestMinReplicasWhenTheCallerLeaves(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server, MinReplicas(1))
	begin := time.Now()
	_, err := s.Acquire(brief(t, 100*time.Millisecond), lease.Acquisition{
		Key: "key", Value: "a/1", TTL: long,
	})
	require.ErrorIs(t, err, lease.ErrNoReply)
	require.Equal(t, lease.Unknown, kindOf(t, err))
	require.Less(t, time.Since(begin), 900*time.Millisecond)
	require.EqualValues(t, 1, server.Client(t).Exists(t.Context(), "key").Val())
	eventually(t, func() bool { return server.Client(t).Exists(t.Context(), "key").Val() == 0 }, "undone behind the caller")
	eventually(t, func() bool { return s.main.abandoned.Load() == 0 }, "nothing hangs")
}

// A WAIT whose connection is cut is not sent again over another one, where it
// would be satisfied at once.
func TestMinReplicasWithALostReply(t *testing.T) {
	server, _ := primary(t, 1)
	s, proxy := proxied(t, server)
	s.replicas = 1
	take(t, s, "warm up") // the scripts are known
	before := server.Calls(t)["wait"] - 1
	for range 20 {
		lost := proxy.DropReplyOf(faultproxy.Containing("$4\r\nwait\r\n"), 1)
		at, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
		require.NoError(t, err, "extended and counted once more")
		require.True(t, at.Acquired)
		<-lost
		require.NoError(t, release(t.Context(), s, lease.Release{Key: "key", Value: "a/1"}))
	}
	require.Equal(t, 1+2*20, server.Calls(t)["wait"]-before)
}

// In a cluster WAIT goes to the server of the key, also while its slot moves.
func TestMinReplicasOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, true)
	c := cluster.Client(t)
	one, two := New(c, MinReplicas(1)), New(c, MinReplicas(2))
	for _, key := range []string{"k", "a{b}c", "{}", "}{", "x}", "{{a}}", "b", "c"} {
		value, _ := take(t, one, key)
		from := cluster.Of(t, key)
		replica := cluster.Replicas[from].Client(t)
		// Past the redirection that a replica of a cluster answers with.
		require.Contains(t, replica.ClusterGetKeysInSlot(t.Context(), cluster.Slot(t, key), 10).Val(), key)
		require.NoError(t, release(t.Context(), one, lease.Release{Key: key, Value: value}))
		_, err := two.Acquire(t.Context(), lease.Acquisition{Key: key, Value: "b/1", TTL: 300 * time.Millisecond})
		require.ErrorIs(t, err, lease.ErrTooFewReplicas, "there is one for each")
		require.Zero(t, c.Exists(t.Context(), key).Val())
	}

	const key = "moves"
	value, _ := take(t, one, key)
	from := cluster.Of(t, key)
	to := (from + 1) % 3
	m := cluster.Migrate(t, cluster.Slot(t, key), from, to)
	for _, step := range []func(){func() {}, func() { m.Move(t, key); m.Move(t, fenceKey(key)) }, func() { m.Finish(t) }} {
		step()
		require.True(t, try(t, one, key, value).Acquired, "ours, and counted where it is")
	}
	require.Contains(t, cluster.Replicas[to].Client(t).ClusterGetKeysInSlot(t.Context(), cluster.Slot(t, key), 10).Val(), key)
	_, err := two.Acquire(t.Context(), lease.Acquisition{Key: key, Value: value, TTL: 300 * time.Millisecond})
	require.ErrorIs(t, err, lease.ErrTooFewReplicas)
	require.Zero(t, c.Exists(t.Context(), key).Val(), "undone where it is")
	require.NoError(t, one.Close())
	require.NoError(t, two.Close())
}

func TestMinReplicasNeedsTheRightToWait(t *testing.T) {
	server, _ := primary(t, 1)
	s := limited(t, server, needed+" ~*", MinReplicas(1))
	_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
	require.Equal(t, lease.Permanent, kindOf(t, err), "%v", err)
	require.ErrorContains(t, err, "wait")
	require.Zero(t, server.Client(t).Exists(t.Context(), "key").Val())
	take(t, limited(t, server, needed+" +wait ~*", MinReplicas(1)), "key")
}

func TestMinReplicasRefusesWhatItCannotCount(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}})
	defer ring.Close()
	c := client(t, "localhost:1")
	for _, s := range []*Store{
		New(ring, MinReplicas(1)), New(struct{ redis.UniversalClient }{c}, MinReplicas(1)), New(c, MinReplicas(-1)),
	} {
		_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
		require.ErrorIs(t, err, lease.ErrInvalidConfig)
		require.ErrorContains(t, err, "MinReplicas")
		require.Equal(t, lease.Permanent, kindOf(t, err))
		require.NoError(t, s.Close())
	}
}
