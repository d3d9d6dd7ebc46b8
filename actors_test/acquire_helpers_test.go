package actors_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

// asked is one attempt that a store saw.
type asked struct {
	at      time.Time
	request lease.Acquisition
	found   lease.Attempt
	err     error
}

// spy is a store that notes what it is asked.
type spy struct {
	lease.Store
	mu       sync.Mutex
	asks     []asked
	released []lease.Release
	others   int
}

func newSpy(inner lease.Store) *spy { return &spy{Store: inner} }

func (s *spy) Acquire(ctx context.Context, a lease.Acquisition) (lease.Attempt, error) {
	at := time.Now()
	found, err := s.Store.Acquire(ctx, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks = append(s.asks, asked{at, a, found, err})
	return found, err
}

func (s *spy) Release(ctx context.Context, batch []lease.Release, report func(int, error)) {
	s.mu.Lock()
	s.released = append(s.released, batch...)
	s.mu.Unlock()
	s.Store.Release(ctx, batch, report)
}

func (s *spy) Extend(ctx context.Context, batch []lease.Extension, report func(int, error)) {
	s.other()
	s.Store.Extend(ctx, batch, report)
}

func (s *spy) Reserve(ctx context.Context, r lease.Reservation) (uint64, error) {
	s.other()
	return s.Store.Reserve(ctx, r)
}

func (s *spy) Contended(ctx context.Context, key, origin string) (bool, error) {
	s.other()
	return s.Store.Contended(ctx, key, origin)
}

func (s *spy) Inspect(ctx context.Context, key string) (lease.State, error) {
	s.other()
	return s.Store.Inspect(ctx, key)
}

func (s *spy) Watch(key string, wake func(string)) func() {
	s.other()
	return s.Store.Watch(key, wake)
}

func (s *spy) other() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.others++
}

// attempts is what Acquire was asked so far.
func (s *spy) attempts() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asks)
}

// failures counts the attempts that ended with an error.
func (s *spy) failures() int {
	n := 0
	for _, a := range s.attempts() {
		if a.err != nil {
			n++
		}
	}
	return n
}

// commands counts everything that was asked.
func (s *spy) commands() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asks) + len(s.released) + s.others
}

func (s *spy) releases() []lease.Release {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.released)
}

// deaf is a store without wake-ups.
type deaf struct{ lease.Store }

func (d deaf) Traits() lease.Traits {
	t := d.Store.Traits()
	t.WakeUps = false
	return t
}

// pass lets d go by in a bubble; all that is due in it has run afterwards.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// foreign puts a key of somebody else's into store.
func foreign(store *memstore.Store, key string, ttl time.Duration) {
	store.Steal(key, "other/1", ttl)
}

// never is a callback that must not run.
func never(t *testing.T) func(context.Context) error {
	return func(context.Context) error {
		t.Error("the callback was run")
		return nil
	}
}

// nothing is a callback with nothing to do.
func nothing(context.Context) error { return nil }

// refused takes the error of a call that did not get its lock apart.
func refused(t *testing.T, err error) *actorlock.AcquireError {
	t.Helper()
	var e *actorlock.AcquireError
	require.ErrorAs(t, err, &e)
	return e
}

// held is a lock that stays until let is called, which returns the call's error.
type held struct {
	ctx  context.Context // the callback's
	free chan struct{}
	end  chan error
}

// hold takes the lock key and comes back once it is held.
func hold(t *testing.T, m *actorlock.Manager, key string, opts ...actorlock.Option) *held {
	t.Helper()
	h := &held{free: make(chan struct{}), end: make(chan error, 1)}
	in := make(chan context.Context)
	go func() {
		h.end <- m.WithLock(context.Background(), key, func(ctx context.Context) error {
			in <- ctx
			<-h.free
			return nil
		}, opts...)
	}()
	select {
	case h.ctx = <-in:
	case err := <-h.end:
		require.FailNow(t, "the lock was not got", "%v", err)
	}
	return h
}

func (h *held) let() error {
	close(h.free)
	return <-h.end
}

// call is a WithLock call that runs beside the test.
type call struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error // after done
	took   time.Duration
}

// start calls WithLock in a goroutine of its own.
func start(m *actorlock.Manager, key string, callback func(context.Context) error, opts ...actorlock.Option) *call {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &call{cancel: cancel, done: make(chan struct{})}
	begin := time.Now()
	go func() {
		defer cancel(nil)
		defer close(c.done)
		c.err = m.WithLock(ctx, key, callback, opts...)
		c.took = time.Since(begin)
	}()
	return c
}

func (c *call) wait() error {
	<-c.done
	return c.err
}

// settled reports whether the call has returned.
func (c *call) settled() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// retryForever waits as long as it takes.
var retryForever = actorlock.RetryAttempts(actorlock.RetryForever)
