package actors_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 4.4: others of this node get the lease, in order of arrival, with a
// fresh token and without a command.
func TestHandOverNeedsNoCommand(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		h := holding(t, t.Context(), m, "k")
		var line []*running
		for range 60 {
			line = append(line, queueUp(t, t.Context(), m, "k"))
			time.Sleep(time.Microsecond) // in this order
		}
		for _, next := range line {
			last := h.token()
			h.release()
			next.granted()
			require.Greater(t, next.token(), last)
			h = next
		}
		h.release()
		require.Equal(t, 1, f.Calls(leasetest.OpAcquire))
		require.Equal(t, 1, f.Calls(leasetest.OpReserve), "one block of tokens")
		require.Equal(t, 1, f.Calls(leasetest.OpRelease))
		require.Zero(t, f.Calls(leasetest.OpExtend))
		require.Zero(t, f.Calls(leasetest.OpContended))
	})
}

// contract 4.4: counted at the server.
func TestHandOverNeedsNoCommandInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	m := redisManager(t, srv)
	holding(t, t.Context(), m, "k").release() // scripts are loaded now
	h := holding(t, t.Context(), m, "k")
	const n = 50
	var line []*running
	for range n {
		line = append(line, queueUp(t, t.Context(), m, "k"))
	}
	queued(t, m, "k", n)
	monitor := srv.Monitor(t)
	for _, next := range line {
		next.settle(0, nil) // as soon as it is its turn
	}
	h.release()
	for _, next := range line {
		next.release()
	}
	scripts := 0
	for _, line := range monitor.ClientLines() {
		if strings.Contains(line, "evalsha") {
			scripts++
		}
	}
	t.Logf("%d scripts for %d hand-overs", scripts, n)
	require.Positive(t, scripts)
	require.LessOrEqual(t, scripts, 10)
}

// contract 4.4: the new holder's TTL: without the store when the lease lasts for
// newTTL/2 to newTTL, otherwise after one compare-and-extend.
func TestHandOverToAnotherTTL(t *testing.T) {
	for _, fencing := range []bool{true, false} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			m := newManager(t, f, actorlock.Fencing(fencing))
			h := holding(t, t.Context(), m, "k", actorlock.TTL(10*time.Second))
			commands := func() int { return f.Calls(leasetest.OpExtend) + f.Calls(leasetest.OpReserve) }
			first := fencing
			for _, step := range []struct {
				ttl  time.Duration
				asks bool
			}{
				{15 * time.Second, false}, // 10 s are left
				{19 * time.Second, false},
				{21 * time.Second, true},
				{41 * time.Second, false},
				{20 * time.Second, true},
				{time.Minute, true},
				{100 * time.Millisecond, true},
				{100 * time.Millisecond, false},
				{time.Hour, true},
			} {
				next := queueUp(t, t.Context(), m, "k", actorlock.TTL(step.ttl))
				time.Sleep(time.Microsecond)
				before := commands()
				h.release()
				next.granted()
				if !first { // the first hand-over reserves tokens
					require.Equal(t, step.asks, commands() > before, "%v", step.ttl)
				}
				require.LessOrEqual(t, commands()-before, 1)
				first = false
				left := peek(t, mem, "k").TTL
				require.GreaterOrEqual(t, left, step.ttl/2-time.Millisecond, "%v", step.ttl)
				require.LessOrEqual(t, left, step.ttl)
				h = next
			}
			require.Equal(t, 1, f.Calls(leasetest.OpAcquire))
			time.Sleep(21 * time.Minute) // renewed with the last holder's TTL
			require.NoError(t, h.ctx.Err())
			require.Greater(t, peek(t, mem, "k").TTL, 50*time.Minute)
		})
	}
}

// contract 4.4: it can be switched off, by either side.
func TestHandOverOff(t *testing.T) {
	for _, tt := range []struct{ holder, next, passed bool }{
		{false, false, false},
		{true, false, false},
		{false, true, false},
		{true, true, true},
	} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
			m := newManager(t, f)
			h := holding(t, t.Context(), m, "k", actorlock.HandOver(tt.holder))
			next := queueUp(t, t.Context(), m, "k", actorlock.HandOver(tt.next))
			time.Sleep(time.Microsecond)
			begin, before := time.Now(), f.Calls(leasetest.OpRelease)
			h.release()
			next.granted()
			require.Equal(t, tt.passed, f.Calls(leasetest.OpRelease) == before, "%+v", tt)
			require.Less(t, time.Since(begin), about, "the next attempt comes at once")
		})
	}
}

// contract 4.3: a hand-over checks nothing; a theft is told to whoever holds at
// the next extension.
func TestHandOverOfAStolenLock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f, actorlock.TTL(9*time.Second), actorlock.Fencing(false))
		h := holding(t, t.Context(), m, "k")
		next := queueUp(t, t.Context(), m, "k")
		time.Sleep(time.Second)
		mem.Steal("k", "other/1", time.Hour)
		h.release()
		next.granted()
		begin := time.Now()
		<-next.ctx.Done()
		require.ErrorIs(t, context.Cause(next.ctx), actorlock.ErrLeaseTaken)
		require.LessOrEqual(t, time.Since(begin), 3*time.Second)
	})
}

// contract 4.3: no hand-over once the last confirmation is older than TTL/3.
func TestHandOverNeedsAFreshConfirmation(t *testing.T) {
	for _, late := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
			m := newManager(t, f, actorlock.TTL(9*time.Second))
			f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true}))
			h := holding(t, t.Context(), m, "k")
			next := queueUp(t, t.Context(), m, "k", actorlock.RetryAttempts(forever))
			time.Sleep(2900 * time.Millisecond)
			if late {
				time.Sleep(200 * time.Millisecond)
			}
			h.release()
			next.granted()
			require.Equal(t, late, f.Calls(leasetest.OpRelease) > 0)
			f.On(leasetest.OpExtend, nil)
		})
	}
}

// contract 4.4: who calls again at the moment of a release finds the lease still
// on its node, when that has been handed over before: then it is wanted often.
func TestHandOverToWhoComesAgain(t *testing.T) {
	// Who calls does not get to run before the release is on its way.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		h := holding(t, t.Context(), m, "k")
		var all sync.WaitGroup
		var call func(left int)
		call = func(left int) {
			require.NoError(t, m.WithLock(t.Context(), "k", func(context.Context) error {
				if left > 0 {
					all.Go(func() { call(left - 1) })
				}
				return nil
			}, actorlock.RetryAttempts(actorlock.RetryForever)))
		}
		all.Go(func() { call(100) })
		synctest.Wait()
		h.release()
		all.Wait()
		require.Equal(t, 1, f.Calls(leasetest.OpAcquire))
		require.Equal(t, 1, f.Calls(leasetest.OpRelease), "in the end")
		require.Zero(t, mem.Len())
	})
}
