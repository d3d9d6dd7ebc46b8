package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

func start(t *testing.T, store lease.Store) *Node {
	n := Start(Config{
		Store: store, Node: "node", Prefix: "p:", Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	t.Cleanup(func() {
		n.Close()
		<-n.Done()
		require.NoError(t, n.Settle(context.Background()))
		<-time.After(200 * time.Millisecond) // the throttle of dead letters
	})
	return n
}

// hold acquires keys, and returns the channels of what comes next for each.
func hold(t *testing.T, n *Node, keys ...string) []chan any {
	t.Helper()
	replies := make([]chan any, len(keys))
	for i, key := range keys {
		replies[i] = make(chan any, 3)
		n.Send(&lockowner.Acquire{Key: key, Reply: replies[i], Ask: lockowner.Ask{
			TTL: time.Minute, Attempts: lockowner.Forever, Delay: time.Second,
		}})
	}
	for _, reply := range replies {
		require.IsType(t, &lockowner.Granted{}, <-reply)
	}
	return replies
}

func numbered(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint(prefix, i)
	}
	return keys
}

func left(t *testing.T, n *Node) *lease.ShutdownError {
	t.Helper()
	var e *lease.ShutdownError
	require.True(t, errors.As(n.Left(), &e), "%v", n.Left())
	return e
}

// contract 8.1: 10,000 held keys are released in batches.
func TestCloseReleasesManyKeys(t *testing.T) {
	const keys = 10_000
	mem := memstore.New()
	f := leasetest.NewFaulty(mem)
	n := start(t, f)
	replies := hold(t, n, numbered("k", keys)...)
	require.Equal(t, keys, mem.Len())
	n.Close()
	n.Close()
	<-n.Done()
	require.NoError(t, n.Left())
	require.Zero(t, mem.Len())
	require.Less(t, f.Calls(leasetest.OpRelease), keys/10)
	t.Logf("%d batches", f.Calls(leasetest.OpRelease))
	for _, reply := range replies {
		require.ErrorIs(t, (<-reply).(*lockowner.Lost).Err, lease.ErrShutdown)
	}
}

// contract 8.1: keys fail each by itself, whatever happens to their batch, and
// those that are left are named; gone and taken are no failure.
func TestCloseNamesWhatIsLeft(t *testing.T) {
	mem := memstore.New()
	f := leasetest.NewFaulty(mem)
	n := start(t, f)
	hold(t, n, numbered("good", 600)...)
	hold(t, n, "failing", "panicking", "gone", "taken")
	mem.Delete("p:gone")
	mem.Steal("p:taken", "other/1", time.Hour)
	f.On(leasetest.OpRelease, func(_ context.Context, key string) leasetest.Fault {
		switch key {
		case "p:failing":
			return leasetest.Fault{Err: io.EOF}
		case "p:panicking":
			return leasetest.Fault{Panic: "ouch"}
		}
		return leasetest.Fault{}
	})
	n.Close()
	<-n.Done()
	e := left(t, n)
	require.Equal(t, []string{"failing", "panicking"}, e.Keys)
	require.ErrorIs(t, e, io.EOF)
	require.ErrorContains(t, e, "ouch")
	require.Equal(t, 3, mem.Len(), "those and the stolen one")
}

// mute is a store whose batches end without a verdict.
type mute struct{ lease.Store }

func (mute) Release(context.Context, []lease.Release, func(int, error)) {}

func TestCloseWithoutVerdicts(t *testing.T) {
	n := start(t, mute{memstore.New()})
	hold(t, n, "k")
	n.Close()
	<-n.Done()
	require.Equal(t, []string{"k"}, left(t, n).Keys)
	require.ErrorIs(t, left(t, n), lease.ErrNoReply)
}

// contract 8.1: Shutdown may be called from many goroutines, and what each gets
// is its own.
func TestLeftForMany(t *testing.T) {
	n := start(t, mute{memstore.New()})
	keys := numbered("k", 100)
	hold(t, n, keys...)
	n.Close()
	<-n.Done()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var e *lease.ShutdownError
			if assert.ErrorAs(t, n.Left(), &e) && assert.ElementsMatch(t, keys, e.Keys) {
				e.Keys[0] = "mine"
			}
		})
	}
	wg.Wait()
}

// contract 8.1: an error is named once, and not for thousands of keys.
func TestCloseGathersErrors(t *testing.T) {
	f := leasetest.NewFaulty(memstore.New())
	n := start(t, f)
	hold(t, n, numbered("k", 100)...)
	f.On(leasetest.OpRelease, func(_ context.Context, key string) leasetest.Fault {
		if strings.HasSuffix(key, "7") {
			return leasetest.Fault{Err: errors.New("of " + key)}
		}
		return leasetest.Fault{Err: io.EOF}
	})
	n.Close()
	<-n.Done()
	e := left(t, n)
	require.Len(t, e.Keys, 100)
	require.LessOrEqual(t, strings.Count(e.Error(), "\n")+1, maxErrors)
	require.LessOrEqual(t, strings.Count(e.Error(), "EOF"), 1)
}

// contract 8.1: Abort leaves what is not released yet, names it, and says why.
func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New()
		f := leasetest.NewFaulty(mem)
		n := start(t, f)
		hold(t, n, numbered("held", 300)...)
		f.On(leasetest.OpRelease, func(_ context.Context, key string) leasetest.Fault {
			return leasetest.Fault{Hang: strings.HasPrefix(key, "p:held1")} // 111 of them
		})
		f.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{Hang: true}))
		n.Send(&lockowner.Acquire{Key: "flying", Reply: make(chan any, 3), Ask: lockowner.Ask{TTL: time.Minute, Delay: time.Second}})
		synctest.Wait()
		n.Close()
		time.Sleep(gather)
		synctest.Wait()
		require.Equal(t, 111, mem.Len())
		select {
		case <-n.Done():
			require.Fail(t, "it waits for what hangs")
		default:
		}
		cause := errors.New("too long")
		n.Abort(cause)
		<-n.Done()
		e := left(t, n)
		require.Len(t, e.Keys, 112)
		require.Contains(t, e.Keys, "flying")
		require.NotContains(t, e.Keys, "held2")
		require.IsIncreasing(t, e.Keys)
		require.ErrorIs(t, e, cause)
	})
}

// contract 8.1: Abort without a Close before it ends everything too.
func TestAbortAlone(t *testing.T) {
	n := start(t, memstore.New())
	replies := hold(t, n, "k")
	n.Abort(io.EOF)
	<-n.Done()
	require.ErrorIs(t, (<-replies[0]).(*lockowner.Lost).Err, lease.ErrShutdown)
	if err := n.Left(); err != nil {
		require.Equal(t, []string{"k"}, left(t, n).Keys)
	}
}

// A node without its renewer cannot keep its promises: it ends all holds.
func TestRenewerDies(t *testing.T) {
	mem := memstore.New()
	n := start(t, mem)
	replies := hold(t, n, "k")
	n.System().Root.Stop(n.owners.Renewer)
	<-n.Done()
	require.ErrorIs(t, (<-replies[0]).(*lockowner.Lost).Err, lease.ErrShutdown)
	require.Zero(t, mem.Len())
}
