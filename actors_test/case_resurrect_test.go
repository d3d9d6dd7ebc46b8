package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// A renewal is delayed for so long that another node has had the lock meanwhile.
func TestCase_B041(t *testing.T) {
	const ttl = 400 * time.Millisecond
	for name, again := range map[string]bool{"released": false, "held again": true} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
				a, b := newManager(t, f, actorlock.TTL(ttl)), newManager(t, mem, actorlock.TTL(time.Minute), retryForever)
				f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true, Executed: true, After: ttl}))
				one := holding(t, t.Context(), a, "k")
				two := holding(t, t.Context(), b, "k")
				require.Error(t, one.ctx.Err())
				left := peek(t, mem, "k").TTL
				entered := time.Now()
				if !again {
					two.release()
				}
				_, err := one.outcome()
				require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseExpired)
				synctest.Wait()
				f.Wait() // the stray renewal has arrived
				if again {
					require.Equal(t, left-time.Since(entered), peek(t, mem, "k").TTL, "not its lease")
					two.release()
				}
				require.Zero(t, mem.Len(), "nothing comes back")
				one.settle(0, nil)
			})
		})
	}
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		srv := redisServer(t)
		look := srv.Client(t)
		proxy := faultproxy.New(t, srv.Addr())
		a := newManager(t, redisStore(t, userClient(t, proxy.Addr())), actorlock.TTL(ttl))
		one := holding(t, t.Context(), a, "k", actorlock.TTL(2*ttl))
		goesOn(t, one.ctx) // the server knows the script, so that a stray renewal is executed
		stalled := proxy.StallRequestOf(faultproxy.Containing("\r\nk\r\n"), 1, 5*ttl)
		<-stalled
		two := holding(t, t.Context(), redisManager(t, srv, retryForever), "k")
		two.release()
		_, err := one.outcome()
		require.ErrorIs(t, lockLost(t, err), actorlock.ErrLeaseExpired)
		ctx, cancel := context.WithTimeout(t.Context(), plenty)
		defer cancel()
		require.NoError(t, proxy.AwaitStalled(ctx))
		require.Zero(t, look.Exists(t.Context(), "k").Val(), "nothing comes back")
		one.settle(0, nil)
	})
}
