package actors_test

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 4.1: on a context of its own, for at most 3 s; 4.2: which is not in
// the result.
func TestReleaseThatHangs(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		f.On(leasetest.OpRelease, leasetest.Always(leasetest.Fault{Hang: true}))
		h := holding(t, t.Context(), m, "k")
		h.cancel(nil)
		begin := time.Now()
		h.settle(7, nil)
		value, err := h.outcome()
		require.NoError(t, err)
		require.Equal(t, 7, value)
		require.LessOrEqual(t, time.Since(begin), 3*time.Second)
		f.On(leasetest.OpRelease, nil)
	})
}

// contract 4.2: a caller who runs its callback itself does not wait for longer,
// also when the message that asked for the lock is still being sent.
func TestReleaseThatHangsAwaited(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		var slow atomic.Bool
		back := make(chan struct{})
		defer close(back)
		m := startManager(t, actorlock.Config{Store: f, System: sending(func(msg any, send func()) {
			send()
			if _, ok := msg.(*lockowner.Acquire); ok && slow.Load() {
				<-back
			}
		})})
		h := holding(t, t.Context(), m, "k")
		slow.Store(true)
		next := queueUp(t, t.Context(), m, "k", actorlock.AwaitCallback(), actorlock.RetryAttempts(forever))
		queued(t, m, "k", 1)
		h.release()
		next.granted()
		pass(time.Millisecond) // a shorter hold would wait for who comes again
		f.On(leasetest.OpRelease, leasetest.Always(leasetest.Fault{Hang: true}))
		begin := time.Now()
		next.release()
		require.LessOrEqual(t, time.Since(begin), 3*time.Second)
		f.On(leasetest.OpRelease, nil)
	})
}

// contract 4.2: a release whose reply is missing is sent again while the first
// one may still be on its way.
func TestReleaseAgainBesideAStray(t *testing.T) {
	s := &reader{Store: memstore.New()}
	m := newManager(t, s)
	require.NoError(t, m.WithLock(t.Context(), "k", nothing))
	s.all.Wait()
	require.Len(t, s.read, 2)
	require.NotEqual(t, s.read[0].Certain, s.read[1].Certain, "the second one is not sure to find the key")
	require.False(t, peek(t, s, "k").Held)
}

// reader lets the first release get lost, and still reads each when the caller
// has gone on.
type reader struct {
	lease.Store
	lost atomic.Bool
	all  sync.WaitGroup
	mu   sync.Mutex
	read []lease.Release
}

func (s *reader) Release(ctx context.Context, batch []lease.Release, report func(int, error)) {
	s.all.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.read = append(s.read, batch...)
	})
	if s.lost.Swap(true) {
		s.Store.Release(ctx, batch, report)
		return
	}
	report(0, &lease.StoreError{Op: "release", Kind: lease.Unknown, Err: io.EOF})
}

// contract 4.1: a lease that was handed over goes back soon, however busy the
// processors are with other things: after a long hold, and after one that was so
// short that somebody might come again.
func TestReleaseOnABusyMachine(t *testing.T) {
	mem := memstore.New()
	m := newManager(t, mem, retryForever)
	fastest := time.Hour
	for range 3 {
		h := holding(t, t.Context(), m, "k")
		next := queueUp(t, t.Context(), m, "k")
		queued(t, m, "k", 1)
		h.release()
		next.granted()
		rest := busy(16)
		begin := time.Now()
		next.release()
		fastest = min(fastest, time.Since(begin))
		rest()
		require.False(t, peek(t, mem, "k").Held)
	}
	require.Less(t, fastest, 200*time.Millisecond)

	h := holding(t, t.Context(), m, "k")
	next := start(m, "k", nothing)
	queued(t, m, "k", 1)
	rest := busy(4)
	begin := time.Now()
	h.release()
	require.NoError(t, next.wait())
	took := time.Since(begin)
	rest()
	require.Less(t, took, 2*time.Second)
}

// busy keeps every processor at work with n goroutines until rest is called.
func busy(n int) (rest func()) {
	var all, begun sync.WaitGroup
	var stop atomic.Bool
	for range n * runtime.GOMAXPROCS(0) {
		begun.Add(1)
		all.Go(func() {
			begun.Done()
			for !stop.Load() {
			}
		})
	}
	begun.Wait()
	return func() {
		stop.Store(true)
		all.Wait()
	}
}

// contract 4.2: a release that fails is logged, not in the result; the key
// ends with its TTL since it is not renewed any more.
func TestReleaseThatFails(t *testing.T) {
	for _, kind := range []lease.Kind{lease.Unknown, lease.NotExecuted, lease.Permanent} {
		inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
			log := quietLogger(t)
			m := startManager(t, actorlock.Config{Store: f, Logger: log.Logger})
			f.On(leasetest.OpRelease, leasetest.Always(leasetest.Fault{Err: io.EOF, Kind: kind}))
			for _, want := range []error{nil, errMine} {
				h := holding(t, t.Context(), m, "k", actorlock.TTL(3*time.Second), actorlock.RetryAttempts(forever))
				time.Sleep(4100 * time.Millisecond)
				h.settle(7, want)
				value, err := h.outcome()
				require.Equal(t, want, err)
				require.Equal(t, 7, value)
				extended := f.Calls(leasetest.OpExtend)
				require.True(t, peek(t, mem, "k").Held)
				time.Sleep(3 * time.Second)
				require.False(t, peek(t, mem, "k").Held)
				require.Equal(t, extended, f.Calls(leasetest.OpExtend))
			}
			require.Equal(t, 2, log.count("release failed"))
		})
	}
}

// contract 4.3: a release that cannot know, since it was sent again, is no loss.
func TestReleaseWhoseReplyIsLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store) {
		m := newManager(t, f)
		for _, times := range []int{1, 2} {
			f.On(leasetest.OpRelease, leasetest.Times(times, leasetest.Fault{Err: io.EOF, Executed: true}))
			h := holding(t, t.Context(), m, "k")
			h.release()
			require.False(t, peek(t, mem, "k").Held)
		}
	})
}
