package actors_test

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// processorTime is what this process has spent on processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// 100 waiters of 10 nodes that began at the same instant do not march in step,
// and cost what 10 waiters cost.
//
// contract 2.6
func TestCase_B058(t *testing.T) {
	const delay = 200 * time.Millisecond
	const long = 60 * time.Second
	bubble(t, func(t *testing.T) {
		store := memstore.New()
		foreign(store, "k", 0)
		var nodes []*spy
		var calls []*call
		for range 10 {
			s := newSpy(store)
			m := newManager(t, s, retryForever, actorlock.RetryDelay(delay))
			nodes = append(nodes, s)
			for range 10 {
				calls = append(calls, start(m, "k", never(t)))
			}
		}
		begin := time.Now()
		pass(long)
		var times []time.Duration
		for _, s := range nodes {
			n := 0
			for _, a := range s.attempts() {
				if at := a.at.Sub(begin); at > long/2 {
					times = append(times, at)
					n++
				}
			}
			require.LessOrEqual(t, n, int(long/2/(delay*8/10)))
			require.GreaterOrEqual(t, n, int(long/2/(delay*11/10)))
		}
		slices.Sort(times)
		// The expected number in such a window is a quarter of one.
		for i := 6; i < len(times); i++ {
			require.Greater(t, times[i]-times[i-6], 5*time.Millisecond, "a burst")
		}
		for _, c := range calls {
			c.cancel(nil)
			_ = c.wait()
		}
	})
}

// Waiting costs a few commands per second and next to no processor time, also
// behind a holder with a long TTL.
func TestCase_B059(t *testing.T) {
	srv := redisServer(t)
	for _, ttl := range []time.Duration{30 * time.Second, 10 * time.Minute} {
		key := fmt.Sprint(ttl)
		h := hold(t, redisManager(t, srv), key, actorlock.TTL(ttl))
		m := redisManager(t, srv, retryForever)
		w := start(m, key, never(t))
		queued(t, m, key, 1)
		subscribed(t, srv.Client(t), key, 1)
		srv.ResetCalls(t)
		used := processorTime()
		const while = 1500 * time.Millisecond
		<-time.After(while)
		require.Less(t, processorTime()-used, while/4)
		// 5 attempts per second: the default delay, less a tenth. Each leaves a
		// mark for the holder.
		n := sent(srv.Calls(t))
		require.LessOrEqual(t, n, 2*10, "%v", srv.Calls(t))
		require.Greater(t, n, 2)
		w.cancel(nil)
		_ = w.wait()
		require.NoError(t, h.let())
	}
}

// A release with 1,000 local waiters wakes one, not all: the number of commands
// per hand-over does not grow with the number of waiters.
//
// contract 2.5
func TestCase_B060(t *testing.T) {
	srv := redisServer(t)
	const turns = 20
	// Commands while the first turns are taken in a queue of n.
	cost := func(n int, handOver bool) int {
		m := redisManager(t, srv, retryForever, actorlock.RetryDelay(time.Hour), actorlock.HandOver(handOver))
		h := hold(t, m, "k")
		turn, quit := make(chan struct{}), make(chan struct{})
		var calls []*call
		for range n {
			calls = append(calls, start(m, "k", func(context.Context) error {
				select {
				case turn <- struct{}{}:
				case <-quit:
				}
				return nil
			}))
		}
		queued(t, m, "k", n)
		srv.ResetCalls(t)
		require.NoError(t, h.let())
		for range turns {
			<-turn
		}
		count := sent(srv.Calls(t))
		for _, c := range calls {
			c.cancel(nil)
		}
		close(quit)
		for _, c := range calls {
			<-c.done
		}
		return count
	}
	for _, handOver := range []bool{true, false} {
		few, many := cost(turns+5, handOver), cost(1000, handOver)
		require.LessOrEqual(t, many, few+10, "hand-over %v", handOver)
		require.LessOrEqual(t, many, 3*turns+10)
	}
}
