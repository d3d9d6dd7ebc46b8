package actors_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// A primary stands still until the sentinels have replaced it, and comes back as
// one, until they notice. Locks that went over to the new one stay what they
// are. Whoever goes past the sentinels still gets locks from the old one, beside
// those of the new one, and is told when it is made a replica.
//
// contract 5.3, 9.1
func TestOldPrimaryReturnsAfterASentinelFailover(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 1, nil)
	a := newManager(t, redisStore(t, w.Client(t), redisstore.MinReplicas(1)))
	b := newManager(t, redisStore(t, w.Client(t)))
	kept := hold(t, a, "kept", actorlock.TTL(9*time.Second), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	next := start(b, "kept", nothing, retryForever, actorlock.RetryDelay(50*time.Millisecond))
	queued(t, b, "kept", 1)

	require.NoError(t, w.Primary.Pause())
	w.Promoted(t)
	goesOn(t, kept.ctx)
	require.NoError(t, w.Primary.Resume())
	past := redisManager(t, w.Primary, actorlock.TTL(2*time.Second))
	first, second := hold(t, past, "k"), hold(t, b, "k", actorlock.TTL(2*time.Second), retryForever)
	require.NoError(t, first.ctx.Err(), "two holders: this is what can be lost")
	require.Greater(t, token(second), token(first))

	for _, s := range w.Sentinels {
		// They wait for a while before they interfere; newer ones can be hurried.
		_ = s.Client(t).Do(t.Context(), "sentinel", "debug", "publish-period", "100", "info-period", "200").Err()
	}
	lockLost(t, <-first.end)
	close(first.free)
	require.Contains(t, w.Primary.Client(t).Info(t.Context(), "replication").Val(), "role:slave")
	goesOn(t, kept.ctx)
	goesOn(t, second.ctx)
	require.NoError(t, second.let())
	require.False(t, next.settled())
	require.NoError(t, kept.let())
	require.NoError(t, next.wait())
}

// split cuts the primary off from its replica, which is made a primary too.
func (r *replaced) split(t *testing.T) {
	t.Helper()
	r.link.BlackHole(true)
	require.NoError(t, r.replica.Client(t).SlaveOf(t.Context(), "no", "one").Err())
}

// What a split can cost: a holder on the side of the old primary extends its
// lock there, whatever happens on the other side, where the lock ends with its
// TTL: two callbacks run for as long as the split lasts. MinReplicas is for
// acquires alone: there are no new locks on the side without the replica. When
// the old primary follows the new one the holder is told by the next extension.
//
// contract 5.3, 3.4
func TestSplitBetweenPrimaryAndReplica(t *testing.T) {
	t.Parallel()
	r := newReplaced(t)
	const ttl = 1500 * time.Millisecond
	a := newManager(t, redisStore(t, userClient(t, r.primary.Addr()), redisstore.MinReplicas(1)), actorlock.TTL(ttl))
	b := redisManager(t, r.replica, actorlock.TTL(ttl), retryForever)
	first := hold(t, a, "k")
	r.split(t)
	second := hold(t, b, "k")
	for range 2 {
		goesOn(t, first.ctx)
		goesOn(t, second.ctx)
	}
	require.Greater(t, token(second), token(first))
	err := a.WithLock(t.Context(), "another", never(t), actorlock.RetryAttempts(0))
	require.ErrorIs(t, err, actorlock.ErrTooFewReplicas)

	host, port, err := net.SplitHostPort(r.replica.Addr())
	require.NoError(t, err)
	require.NoError(t, r.primary.Client(t).SlaveOf(t.Context(), host, port).Err())
	joined := time.Now()
	lockLost(t, <-first.end)
	require.Less(t, time.Since(joined), ttl)
	close(first.free)
	goesOn(t, second.ctx)
	require.NoError(t, second.let())
}

// What a server can do about it: with min-replicas-to-write the old primary
// refuses extensions soon after the split, so that the holder is told before the
// lock ends on the other side, if a third of the TTL is well above the lag.
//
// contract 5.3
func TestSplitWithMinReplicasToWrite(t *testing.T) {
	t.Parallel()
	r := newReplaced(t)
	look := r.primary.Client(t)
	require.NoError(t, look.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	require.NoError(t, look.ConfigSet(t.Context(), "min-replicas-max-lag", "1").Err())
	a := newManager(t, redisStore(t, userClient(t, r.primary.Addr()), redisstore.MinReplicas(1)))
	b := redisManager(t, r.replica, retryForever)
	first := hold(t, a, "k", actorlock.TTL(7*time.Second))
	r.split(t)
	second := hold(t, b, "k")
	require.Error(t, first.ctx.Err(), "told before")
	require.ErrorContains(t, lockLost(t, <-first.end), "NOREPLICAS")
	close(first.free)
	require.Greater(t, token(second), token(first))
	require.NoError(t, second.let())
}
