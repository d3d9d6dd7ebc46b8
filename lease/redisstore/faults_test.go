package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
)

// proxied is a store whose traffic goes through a proxy.
func proxied(t *testing.T, server *redistest.Server) (*Store, *faultproxy.Proxy) {
	t.Helper()
	proxy := faultproxy.New(t, server.Addr())
	return openURL(t, "redis://"+proxy.Addr()), proxy
}

// The client sends an acquire again whose reply was lost: it finds its value.
func TestLostReplyOfAcquire(t *testing.T) {
	server := redistest.Start(t)
	s, proxy := proxied(t, server)
	value, last := take(t, s, "key")
	for range 100 {
		require.NoError(t, release(t.Context(), s, lease.Release{Key: "key", Value: value}))
		lost := proxy.DropReplyOf(faultproxy.Containing(acquireScript.sha), 1)
		var token uint64
		value, token = take(t, s, "key")
		<-lost
		require.Equal(t, storedToken(t, server, "key"), token)
		require.Greater(t, token, last)
		last = token
	}
}

// A certain release is sent once: the loss of its reply is not a lost lock.
func TestLostReplyOfRelease(t *testing.T) {
	server := redistest.Start(t)
	s, proxy := proxied(t, server)
	for _, giveBack := range []bool{false, true} {
		value, token := take(t, s, "key")
		r := lease.Release{Key: "key", Value: value, Certain: true}
		if giveBack {
			r.Used, r.Reserved = token, token+5
		}
		require.ErrorIs(t, release(t.Context(), s, lease.Release{Key: "other", Value: value, Certain: true, Used: 1, Reserved: 2}), lease.ErrLeaseGone)
		lost := proxy.DropReplyOf(faultproxy.Containing(value), 1)
		err := release(t.Context(), s, r)
		<-lost
		require.False(t, lease.IsLoss(err), "%v", err)
		require.Equal(t, lease.Unknown, kindOf(t, err))
		require.Zero(t, server.Client(t).Exists(t.Context(), "key").Val(), "it was executed")

		// Without the promise the client sends it again, and says gone.
		value, _ = take(t, s, "key")
		lost = proxy.DropReplyOf(faultproxy.Containing(value), 1)
		err = release(t.Context(), s, lease.Release{Key: "key", Value: value})
		<-lost
		require.ErrorIs(t, err, lease.ErrLeaseGone)
	}
}

func TestLostReplyOfExtend(t *testing.T) {
	server := redistest.Start(t)
	s, proxy := proxied(t, server)
	value, _ := take(t, s, "key")
	lost := proxy.DropReplyOf(faultproxy.Containing(value), 1)
	require.NoError(t, extend(t.Context(), s, lease.Extension{Key: "key", Value: value, TTL: long}))
	<-lost
}

// Of a pipeline whose replies are lost every command is dealt with by itself.
func TestLostRepliesOfAPipeline(t *testing.T) {
	server := redistest.Start(t)
	s, proxy := proxied(t, server)
	var batch []lease.Release
	var leases []lease.Extension
	for i := range 100 {
		key := fmt.Sprint("key", i)
		value, token := take(t, s, key)
		leases = append(leases, lease.Extension{Key: key, Value: value, TTL: long})
		batch = append(batch, lease.Release{Key: key, Value: value, Certain: i%2 == 0, Used: token, Reserved: token})
	}
	s.Release(t.Context(), []lease.Release{{Key: "x", Value: "a/1"}}, func(int, error) {}) // caches the script
	lost := proxy.DropReplyOf(faultproxy.Containing(extendScript.sha), 1)
	s.Extend(t.Context(), leases, func(_ int, err error) { require.NoError(t, err) })
	<-lost
	lost = proxy.DropReplyOf(faultproxy.Containing(releaseScript.sha), 1)
	verdicts := make([]error, len(batch))
	s.Release(t.Context(), batch, func(i int, err error) { verdicts[i] = err })
	<-lost
	for i, err := range verdicts {
		if batch[i].Certain {
			require.Equal(t, lease.Unknown, lease.KindOf(err))
			require.False(t, lease.IsLoss(err), "item %d: %v", i, err)
			require.Error(t, err)
		} else {
			require.True(t, err == nil || lease.IsLoss(err), "item %d: %v", i, err)
		}
	}
}

// A reply that was lost, and then no server: it may have been executed.
func TestLostReplyAndThenNoServer(t *testing.T) {
	server := redistest.Start(t)
	proxy := faultproxy.New(t, server.Addr())
	s := openURL(t, "redis://"+proxy.Addr()+"")
	take(t, s, "warm-up")
	lost := proxy.DropReplyOf(faultproxy.Containing(acquireScript.sha), 1)
	go func() {
		<-lost
		proxy.Refuse(true)
	}()
	_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
	require.Equal(t, lease.Unknown, kindOf(t, err))
	require.NotZero(t, server.Client(t).Exists(t.Context(), "key").Val())
}

func TestServerDown(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	require.NoError(t, server.Kill())
	start := time.Now()
	_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
	require.Equal(t, lease.NotExecuted, kindOf(t, err))
	require.NotErrorIs(t, err, lease.ErrHeld)
	require.Less(t, time.Since(start), time.Second)
	require.NoError(t, server.Restart())
	take(t, s, "key")
}

// The server knows the scripts no longer: between batches, and for some
// commands of a batch.
func TestScriptFlush(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	var batch []lease.Extension
	for i := range 600 {
		require.NoError(t, c.ScriptFlush(t.Context()).Err())
		key := fmt.Sprint("key", i)
		value, _ := take(t, s, key)
		batch = append(batch, lease.Extension{Key: key, Value: value, TTL: 2 * long})
	}
	// While batches run.
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				if err := c.ScriptFlush(context.Background()).Err(); err != nil {
					t.Errorf("flush: %v", err)
					return
				}
			}
		}
	})
	for range 20 {
		var reports atomic.Int64
		s.Extend(t.Context(), batch, func(i int, err error) {
			reports.Add(1)
			require.NoError(t, err)
		})
		require.EqualValues(t, len(batch), reports.Load())
	}
	close(quit)
	wg.Wait()
	require.NoError(t, c.ScriptFlush(t.Context()).Err())
	s.Extend(t.Context(), batch, func(i int, err error) { require.NoError(t, err) })
	require.NoError(t, c.ScriptFlush(t.Context()).Err())
	releases := make([]lease.Release, len(batch))
	for i, e := range batch {
		releases[i] = lease.Release{Key: e.Key, Value: e.Value, Certain: true}
	}
	s.Release(t.Context(), releases, func(i int, err error) { require.NoError(t, err) })
}

func TestServerThatRefusesWrites(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	value, _ := take(t, s, "mine")
	refused := func(code string) {
		t.Helper()
		_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long, Fence: true})
		require.Equal(t, lease.NotExecuted, kindOf(t, err))
		require.ErrorContains(t, err, code)
		require.Zero(t, c.Exists(t.Context(), "key").Val(), "no lock without an owner")
	}
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	refused("OOM")
	err := release(t.Context(), s, lease.Release{Key: "mine", Value: value, Certain: true})
	if err != nil { // the server refuses the script as a whole
		require.Equal(t, lease.NotExecuted, kindOf(t, err))
	}
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())

	require.NoError(t, c.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	refused("NOREPLICAS")
	require.NoError(t, c.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())

	require.NoError(t, c.SlaveOf(t.Context(), "127.0.0.1", "1").Err())
	refused("READONLY")
	require.NoError(t, c.SlaveOf(t.Context(), "no", "one").Err())
	take(t, s, "key")
}

// A server that hangs, with the client's defaults, which heed no deadline.
func TestHungServer(t *testing.T) {
	server := redistest.Start(t)
	s := New(client(t, server.Addr()))
	value, _ := take(t, s, "mine")
	require.NoError(t, extend(t.Context(), s, lease.Extension{Key: "mine", Value: value, TTL: long}))
	require.NoError(t, server.Pause())

	start := time.Now()
	_, err := s.Acquire(brief(t, 200*time.Millisecond), lease.Acquisition{
		Key: "key", Value: "a/1", TTL: long,
	})
	require.Less(t, time.Since(start), 400*time.Millisecond)
	require.Equal(t, lease.Unknown, kindOf(t, err))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, lease.ErrNoReply)

	err = extend(brief(t, 50*time.Millisecond), s, lease.Extension{Key: "mine", Value: value, TTL: long})
	require.Equal(t, lease.Unknown, kindOf(t, err))
	err = release(brief(t, 50*time.Millisecond), s, lease.Release{Key: "mine", Value: value})
	require.Equal(t, lease.Unknown, kindOf(t, err))
	require.Less(t, time.Since(start), time.Second)

	require.NoError(t, server.Resume())
	eventually(t, func() bool { return s.main.abandoned.Load()+s.renewals.abandoned.Load() == 0 }, "nothing is left")
	require.NotZero(t, server.Client(t).Exists(t.Context(), "key").Val())
}

// With a patient context the outcome is worth more than the deadline.
func TestHungServerAndPatientCaller(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	take(t, s, "warm-up")
	require.NoError(t, server.Pause())
	ctx := brief(t, 100*time.Millisecond)
	context.AfterFunc(ctx, func() { _ = server.Resume() })
	at, err := s.Acquire(lease.Patiently(ctx), lease.Acquisition{
		Key: "key", Value: "a/1", TTL: long,
	})
	require.NoError(t, err)
	require.True(t, at.Acquired)
	require.Error(t, ctx.Err())
}

// Commands that hang are not piled up without end.
func TestAbandonedCommandsAreBounded(t *testing.T) {
	server := redistest.Start(t)
	s := New(client(t, server.Addr()))
	s.main.abandoned.Store(maxAbandoned)
	_, err := s.Acquire(brief(t, time.Minute), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
	require.Equal(t, lease.NotExecuted, kindOf(t, err))
	require.ErrorIs(t, err, errAbandoned)
	s.main.abandoned.Store(maxAbandoned - 1)
	_, err = s.Acquire(brief(t, time.Minute), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
	require.NoError(t, err)
}
