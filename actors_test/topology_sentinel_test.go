package actors_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// contract 9.1
func TestSentinelFailoverWhileLocksAreHeldAndWaitedFor(t *testing.T) {
	w := redistest.StartSentinels(t, 2, nil)
	client := func() redis.UniversalClient { return w.Client(t) }
	survive(t, [3]string{"keep", "tell", "another"}, client, func() {
		require.NoError(t, w.Primary.Kill())
	})
	w.Promoted(t)
}

// replaced is a primary whose replica follows it through a proxy and takes its
// place on demand.
type replaced struct {
	primary, replica *redistest.Server
	link             *faultproxy.Proxy
	addr             atomic.Value // where clients find the primary
}

func newReplaced(t *testing.T) *replaced {
	t.Helper()
	quick := redistest.Args("--repl-diskless-sync-delay", "0")
	r := &replaced{primary: redisServer(t, quick)}
	r.link = faultproxy.New(t, r.primary.Addr())
	r.replica = redisServer(t, quick, redistest.ReplicaOf(r.link.Addr()))
	redistest.AwaitReplicas(t, r.primary, 1)
	r.addr.Store(r.primary.Addr())
	return r
}

// client is one that finds its way by itself, like those of Sentinel.
func (r *replaced) client(t *testing.T) *redis.Client {
	return userClient(t, "the primary:0", func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, r.addr.Load().(string))
		}
	})
}

// fail lets the primary die and promotes the replica, as it is.
func (r *replaced) fail(t *testing.T) {
	t.Helper()
	require.NoError(t, r.primary.Kill())
	require.NoError(t, r.replica.Client(t).SlaveOf(t.Context(), "no", "one").Err())
	r.addr.Store(r.replica.Addr())
}

// What a failover can cost: Redis replicates in the background, and a replica
// that takes over without having seen a lock gives it to the next who asks. Two
// callbacks then run at once, until the first holder's next extension, TTL/3
// after the last one, finds somebody else's value. It has not had the last word:
// its end leaves the other's key alone, and its token is the lower one, as long
// as the servers' clocks agree (tokens are lost with the replica's lag, too).
//
// contract 5.3, 3.4
func TestCase_B082(t *testing.T) {
	r := newReplaced(t)
	a, b := newManager(t, redisStore(t, r.client(t))), newManager(t, redisStore(t, r.client(t)))
	r.link.BlackHole(true)
	const ttl = 9 * time.Second // long beside the time that the next lines take
	first := hold(t, a, "k", actorlock.TTL(ttl))
	r.fail(t)
	second := hold(t, b, "k", actorlock.TTL(ttl), retryForever)
	require.NoError(t, first.ctx.Err(), "two holders: this is what can be lost")
	require.Greater(t, token(second), token(first))

	l, _ := actorlock.LeaseFrom(first.ctx)
	err := <-first.end
	require.ErrorIs(t, err, actorlock.ErrLeaseTaken)
	close(first.free)
	require.True(t, time.Now().Before(l.Deadline()), "told by the next extension, not by the end of the TTL")
	require.NoError(t, a.Shutdown(t.Context()))
	require.NoError(t, second.ctx.Err(), "the first one's end is no business of the second")
	require.NoError(t, second.let())
}

// MinReplicas refuses the lock that the replica has not seen, and keeps one
// that it has.
func TestMinReplicasKeepsLocksThroughAFailover(t *testing.T) {
	r := newReplaced(t)
	counting := redisstore.MinReplicas(1)
	a, b := newManager(t, redisStore(t, r.client(t), counting)), newManager(t, redisStore(t, r.client(t)))
	held := hold(t, a, "seen", actorlock.TTL(12*time.Second), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	r.link.BlackHole(true)
	err := a.WithLock(t.Context(), "unseen", never(t), actorlock.TTL(900*time.Millisecond), actorlock.RetryAttempts(1))
	require.ErrorIs(t, err, actorlock.ErrTooFewReplicas)
	require.NotErrorIs(t, err, actorlock.ErrHeld)
	require.Equal(t, 2, refused(t, err).Attempts)
	require.Zero(t, r.primary.Client(t).Exists(t.Context(), "unseen").Val(), "undone")

	r.fail(t)
	require.NoError(t, b.WithLock(t.Context(), "unseen", nothing))
	require.ErrorIs(t, b.WithLock(t.Context(), "seen", never(t), actorlock.RetryAttempts(0)), actorlock.ErrHeld)
	goesOn(t, held.ctx)
	require.NoError(t, held.let())
}

func token(h *held) uint64 {
	l, _ := actorlock.LeaseFrom(h.ctx)
	return l.Token
}
