package lockowner_test

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/actors/supervisor"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// cursed is a store some of whose methods panic while it is on.
type cursed struct {
	lease.Store
	watch, traits atomic.Bool
}

func (c *cursed) Traits() lease.Traits {
	if c.traits.Load() {
		panic("traits")
	}
	return c.Store.Traits()
}

func (c *cursed) Watch(key string, wake func(string)) func() {
	if c.watch.Load() {
		panic("watch")
	}
	return c.Store.Watch(key, wake)
}

func start(t *testing.T, store lease.Store) *supervisor.Node {
	n := supervisor.Start(supervisor.Config{
		Store: store, Node: "node", Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	t.Cleanup(func() {
		n.Close()
		<-n.Done()
		require.NoError(t, n.Settle(context.Background()))
		<-time.After(200 * time.Millisecond) // the throttle of dead letters
	})
	return n
}

func acquire(n *supervisor.Node, attempts int) chan any {
	reply := make(chan any, 3)
	n.Send(&lockowner.Acquire{Key: "k", Reply: reply, Ask: lockowner.Ask{
		TTL: time.Minute, Attempts: attempts, Delay: 10 * time.Millisecond, HandOver: true, Fencing: true,
	}})
	return reply
}

func granted(t *testing.T, reply chan any) *lockowner.Hold {
	t.Helper()
	select {
	case m := <-reply:
		require.IsType(t, &lockowner.Granted{}, m)
		return m.(*lockowner.Granted).Hold
	case <-time.After(20 * time.Second):
		require.FailNow(t, "the key is wedged")
		return nil
	}
}

// A panic inside an owner answers its callers, and the key can be had again.
func TestPanicWhileWaiting(t *testing.T) {
	for _, curse := range []func(c *cursed, on bool){
		func(c *cursed, on bool) { c.watch.Store(on) },
		func(c *cursed, on bool) { c.traits.Store(on) },
	} {
		mem := memstore.New()
		store := &cursed{Store: mem}
		n := start(t, store)
		mem.Steal("k", "other/1", time.Hour)
		curse(store, true)
		for range 3 {
			first, second := acquire(n, lockowner.Forever), acquire(n, lockowner.Forever)
			for _, reply := range []chan any{first, second} {
				m, ok := (<-reply).(*lockowner.Refused)
				require.True(t, ok)
				require.Error(t, m.Err)
				require.NotErrorIs(t, m.Err, lease.ErrHeld)
			}
		}
		curse(store, false)
		mem.Delete("k")
		reply := acquire(n, lockowner.Forever)
		n.Release(granted(t, reply))
		require.IsType(t, &lockowner.Released{}, <-reply)
		require.Zero(t, mem.Len())
	}
}

// A panic while the lock is held ends the hold, tells the holder, and releases
// the lease, also when the owner has let go of what a long hold does without.
func TestPanicWhileHeld(t *testing.T) {
	for _, since := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			mem := memstore.New()
			n := start(t, mem)
			holder := acquire(n, lockowner.Forever)
			hold := granted(t, holder)
			ctx := hold.Bind(t.Context())
			time.Sleep(since)
			// An owner does nothing that can panic while it holds, but for its messages.
			n.System().Root.Send(hold.Owner(), (*lockowner.Inspect)(nil))
			lost, ok := (<-holder).(*lockowner.Lost)
			require.True(t, ok)
			require.Error(t, lost.Err)
			require.Equal(t, error(lost.Err), context.Cause(ctx))
			synctest.Wait()
			require.Zero(t, mem.Len(), "without waiting for its TTL")
			reply := acquire(n, lockowner.Forever)
			n.Release(granted(t, reply))
			require.IsType(t, &lockowner.Released{}, <-reply)
		})
	}
}

// A panic of a command is that command's error.
func TestPanicOfACommand(t *testing.T) {
	for _, op := range []leasetest.Op{leasetest.OpAcquire, leasetest.OpReserve, leasetest.OpRelease} {
		mem := memstore.New()
		f := leasetest.NewFaulty(mem)
		n := start(t, f)
		f.On(op, leasetest.Times(1, leasetest.Fault{Panic: "ouch"}))
		for range 3 {
			reply := acquire(n, lockowner.Forever)
			hold := granted(t, reply)
			if op == leasetest.OpReserve { // which a hand-over needs
				waits := acquire(n, lockowner.Forever)
				n.Release(hold)
				require.IsType(t, &lockowner.Released{}, <-reply)
				reply, hold = waits, granted(t, waits)
			}
			n.Release(hold)
			require.IsType(t, &lockowner.Released{}, <-reply, "%s", op)
			mem.Delete("k") // what a failed release has left
		}
	}
}
