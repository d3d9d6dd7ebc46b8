package actors_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// inVirtualTime runs fn in a bubble of its own, with an in-memory store that
// can be made to fail.
func inVirtualTime(t *testing.T, fn func(t *testing.T, f *leasetest.Faulty, mem *memstore.Store)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		fn(t, leasetest.NewFaulty(mem), mem)
	})
}

// running is a call whose callback runs until it is told to settle.
type running struct {
	t      *testing.T
	cancel context.CancelCauseFunc // of the caller's context
	in     chan struct{}           // closed when the callback has begun
	ctx    context.Context         // the callback's, after in
	leave  chan func() (int, error)
	done   chan struct{} // closed when the call has returned
	value  int
	err    error
}

// queueUp starts a call for key. When the test ends its context ends too.
func queueUp(t *testing.T, ctx context.Context, m *actorlock.Manager, key string, opts ...actorlock.Option) *running {
	t.Helper()
	ctx, cancel := context.WithCancelCause(ctx)
	h := &running{
		t: t, cancel: cancel, in: make(chan struct{}),
		leave: make(chan func() (int, error), 1), done: make(chan struct{}),
	}
	go func() {
		defer close(h.done)
		h.value, h.err = actorlock.WithLock(ctx, m, key, func(ctx context.Context) (int, error) {
			h.ctx = ctx
			close(h.in)
			return (<-h.leave)()
		}, opts...)
	}()
	t.Cleanup(func() {
		cancel(nil)
		h.settle(0, nil)
		<-h.done
	})
	return h
}

// holding starts a call for key and returns when its callback has begun.
func holding(t *testing.T, ctx context.Context, m *actorlock.Manager, key string, opts ...actorlock.Option) *running {
	t.Helper()
	h := queueUp(t, ctx, m, key, opts...)
	h.granted()
	return h
}

func (h *running) granted() {
	h.t.Helper()
	select {
	case <-h.in:
	case <-h.done:
		require.FailNow(h.t, "the lock was not granted", "%v", h.err)
	}
}

// settle lets the callback return.
func (h *running) settle(value int, err error) {
	select {
	case h.leave <- func() (int, error) { return value, err }:
	default: // has been told before
	}
}

// outcome waits for the call.
func (h *running) outcome() (int, error) {
	<-h.done
	return h.value, h.err
}

// release lets the callback return nil and expects the call to do so as well.
func (h *running) release() {
	h.t.Helper()
	h.settle(0, nil)
	_, err := h.outcome()
	require.NoError(h.t, err)
}

func (h *running) token() uint64 {
	l, ok := actorlock.LeaseFrom(h.ctx)
	require.True(h.t, ok)
	return l.Token
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// peek looks at key in the store itself.
func peek(t *testing.T, s lease.Store, key string) lease.State {
	t.Helper()
	state, err := s.Inspect(context.Background(), key)
	require.NoError(t, err)
	return state
}

// recorder notes what is sent to a store.
type recorder struct {
	lease.Store

	mu       sync.Mutex
	acquires []lease.Acquisition
	extends  []lease.Extension
	batches  []int // sizes of Extend calls
	releases []lease.Release
	reserves []lease.Reservation
	watching int
	watched  int
}

func (s *recorder) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *recorder) Acquire(ctx context.Context, a lease.Acquisition) (lease.Attempt, error) {
	s.note(func() { s.acquires = append(s.acquires, a) })
	return s.Store.Acquire(ctx, a)
}

func (s *recorder) Extend(ctx context.Context, batch []lease.Extension, report func(int, error)) {
	s.note(func() {
		s.extends = append(s.extends, batch...)
		s.batches = append(s.batches, len(batch))
	})
	s.Store.Extend(ctx, batch, report)
}

func (s *recorder) Release(ctx context.Context, batch []lease.Release, report func(int, error)) {
	s.note(func() { s.releases = append(s.releases, batch...) })
	s.Store.Release(ctx, batch, report)
}

func (s *recorder) Reserve(ctx context.Context, r lease.Reservation) (uint64, error) {
	s.note(func() { s.reserves = append(s.reserves, r) })
	return s.Store.Reserve(ctx, r)
}

func (s *recorder) Watch(key string, wake func(string)) func() {
	s.note(func() { s.watching++; s.watched++ })
	stop := s.Store.Watch(key, wake)
	var once sync.Once
	return func() {
		stop()
		once.Do(func() { s.note(func() { s.watching-- }) })
	}
}

// seen is a copy of what was noted so far.
func (s *recorder) seen() *recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &recorder{
		acquires: slices.Clone(s.acquires), extends: slices.Clone(s.extends), batches: slices.Clone(s.batches),
		releases: slices.Clone(s.releases), reserves: slices.Clone(s.reserves), watching: s.watching, watched: s.watched,
	}
}

const forever = actorlock.RetryForever

// about is a duration within which something that needs no time must happen,
// in virtual time.
const about = 5 * time.Millisecond

// actors counts the actors of the system that m lives in.
func actors(m *actorlock.Manager) int {
	n := 0
	for _, pids := range m.System().ProcessRegistry.LocalPIDs.LocalPIDs {
		n += pids.Count()
	}
	return n
}
