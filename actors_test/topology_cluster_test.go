package actors_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
)

// movable is the TTL of locks whose slot is moved: no stall of a busy machine ends
// them.
var movable = actorlock.TTL(2500 * time.Millisecond)

// Lock and tokens of any key share a slot, with braces and without: a lock can
// be taken, extended, handed over and released, and its waiters are woken.
// (Channels have no slot: the whole cluster hears of what is published.) Then
// the slot moves while the lock is held and waited for.
//
// contract 9.2
func TestCase_B081(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, true)
	a, b := newManager(t, redisStore(t, cluster.Client(t))), newManager(t, redisStore(t, cluster.Client(t)))
	for _, key := range []string{"k", "a{b}c", "}{", "{x", "a}b{c}"} {
		h := hold(t, a, key, movable)
		look := cluster.Masters[cluster.Of(t, key)].Client(t)
		keys := look.ClusterGetKeysInSlot(t.Context(), cluster.Slot(t, key), 10).Val()
		require.Contains(t, keys, key)
		require.Len(t, keys, 2, "the lock and its tokens")
		local := start(a, key, nothing, retryForever)
		remote := start(b, key, nothing, retryForever, actorlock.RetryDelay(time.Hour))
		queued(t, a, key, 1)
		queued(t, b, key, 1)
		goesOn(t, h.ctx)
		require.NoError(t, h.let(), key)
		require.NoError(t, local.wait(), key)
		require.NoError(t, remote.wait(), key)
	}
	for _, key := range []string{"moves", "{this}:too"} {
		moveWhileHeld(t, cluster, a, b, key)
	}
}

// moveWhileHeld moves the slot of a lock that a holds and b waits for, key by
// key. Extensions and the release need one key, which is somewhere at any time.
// An acquire needs two, and Redis refuses it (TRYAGAIN) from the moment that one
// has moved, or that there is none, until the slot has arrived: waiters wait.
func moveWhileHeld(t *testing.T, cluster *redistest.Cluster, a, b *actorlock.Manager, key string) {
	t.Helper()
	from := cluster.Of(t, key)
	to := (from + 1) % len(cluster.Masters)
	h := hold(t, a, key, movable)
	w := start(b, key, nothing, retryForever, actorlock.RetryDelay(20*time.Millisecond))
	queued(t, b, key, 1)
	goesOn(t, h.ctx)
	m := cluster.Migrate(t, cluster.Slot(t, key), from, to)
	goesOn(t, h.ctx) // the lock has not moved yet
	m.Move(t, key)
	goesOn(t, h.ctx) // the lock has moved, its tokens have not
	m.Finish(t)
	goesOn(t, h.ctx)
	require.False(t, w.settled())
	require.EqualValues(t, 1, cluster.Masters[to].Client(t).Exists(t.Context(), key).Val())
	require.NoError(t, h.let())
	require.NoError(t, w.wait())

	// A release in the middle of a move: the waiter gets in at its end.
	h = hold(t, a, key, movable)
	w = start(b, key, nothing, retryForever, actorlock.RetryDelay(20*time.Millisecond))
	queued(t, b, key, 1)
	m = cluster.Migrate(t, cluster.Slot(t, key), to, from)
	m.Move(t, key)
	require.NoError(t, h.let())
	m.Finish(t)
	require.NoError(t, w.wait())
}

// contract 9.1
func TestDeathOfAMasterWhileLocksAreHeldAndWaitedFor(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, true, redistest.Args("--cluster-node-timeout", "1000"))
	master := cluster.Of(t, "{braces}")
	keys := [3]string{"a{braces}", "b{braces}", ""}
	elsewhere := ""
	for _, key := range []string{"without", "any", "one", "two", "three", "four", "five", "six", "seven", "eight"} {
		switch of := cluster.Of(t, key); {
		case of == master && keys[2] == "":
			keys[2] = key
		case of != master:
			elsewhere = key
		}
	}
	other := newManager(t, redisStore(t, cluster.Client(t)))
	// The whole cluster is down for a moment, unless it is told to go on.
	h := hold(t, other, elsewhere, actorlock.TTL(6*time.Second), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	client := func() redis.UniversalClient { return cluster.Client(t) }
	survive(t, keys, client, func() { require.NoError(t, cluster.Masters[master].Kill()) })
	redistest.AwaitPromotion(t, cluster.Replicas[master])
	goesOn(t, h.ctx)
	require.NoError(t, h.let())
}
