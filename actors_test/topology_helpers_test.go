package actors_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// goesOn waits until the lock of ctx has been extended from now on.
func goesOn(t *testing.T, ctx context.Context) {
	t.Helper()
	l, _ := actorlock.LeaseFrom(ctx)
	before := l.Deadline()
	eventually(t, func() bool {
		l, _ := actorlock.LeaseFrom(ctx)
		return l.Deadline().After(before) || ctx.Err() != nil
	}, "an extension")
	require.NoError(t, context.Cause(ctx))
}

// survive holds locks and has them waited for while fail puts a replica in the
// place of the server that has them: a holder with patience keeps its lock, one
// without is told before anybody else has it, and nobody is stuck. The replicas
// know the locks.
func survive(t *testing.T, keys [3]string, client func() redis.UniversalClient, fail func()) {
	t.Helper()
	a := newManager(t, redisStore(t, client(), redisstore.MinReplicas(1)))
	b := newManager(t, redisStore(t, client()))
	often := actorlock.RetryDelay(50 * time.Millisecond)
	kept := hold(t, a, keys[0], actorlock.TTL(12*time.Second), actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	var free, early atomic.Bool
	afterKept := start(b, keys[0], func(context.Context) error {
		early.CompareAndSwap(false, !free.Load())
		return nil
	}, retryForever, often)
	queued(t, b, keys[0], 1)
	told := hold(t, a, keys[1], actorlock.TTL(600*time.Millisecond)) // less than a failover takes
	afterTold := start(b, keys[1], func(context.Context) error {
		early.CompareAndSwap(false, told.ctx.Err() == nil)
		return nil
	}, retryForever, often)
	queued(t, b, keys[1], 1)

	begin := time.Now()
	fail()
	another := start(b, keys[2], nothing, retryForever, often)

	var lost *actorlock.LockLostError
	require.ErrorAs(t, <-told.end, &lost)
	t.Logf("told after %v: %v", time.Since(begin), lost.Err)
	close(told.free)
	require.NoError(t, another.wait())
	require.NoError(t, afterTold.wait())
	t.Logf("locks are granted again after %v", time.Since(begin))
	require.Less(t, time.Since(begin), plenty)
	goesOn(t, kept.ctx)
	require.False(t, afterKept.settled())
	free.Store(true)
	require.NoError(t, kept.let())
	require.NoError(t, afterKept.wait())
	require.False(t, early.Load(), "two at once")
	require.NoError(t, b.WithLock(t.Context(), keys[1], nothing), "as if nothing had been")
}
