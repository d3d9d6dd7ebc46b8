package memstore

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

// log collects origins in the order of their wake-ups.
type log struct {
	mu   sync.Mutex
	seen []string
}

func (l *log) wake(origin string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, origin)
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

func TestWatchWakesOnceWhenEffective(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		var l log
		l.mu.Lock() // as a caller that holds what wake needs
		stop := s.Watch("k", l.wake)
		l.mu.Unlock()
		require.Empty(t, l.all())
		synctest.Wait()
		pass(t, time.Hour)
		require.Equal(t, []string{""}, l.all())
		stop()
		stop()
		require.Empty(t, s.watches)
	})
}

func TestWatchNamesTheOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		var l, other log
		defer s.Watch("k", l.wake)()
		defer s.Watch("other", other.wake)()
		pass(t, 1)
		take(t, s, "k", "a/1", time.Minute)
		require.NoError(t, release(t, s, lease.Release{Key: "k", Value: "a/1", Origin: "a"}))
		require.Equal(t, []string{"", "a"}, l.all(), "woken before Release returns")
		take(t, s, "k", "a/1", time.Millisecond)
		pass(t, time.Second)
		require.Equal(t, []string{"", "a"}, l.all(), "an expiry wakes nobody")
		require.Equal(t, []string{""}, other.all())
	})
}

func TestWatchStoppedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		var l log
		s.Watch("k", l.wake)()
		before := l.all()
		pass(t, time.Second)
		require.Equal(t, before, l.all(), "woken after stop")
		require.Empty(t, s.watches)
	})
}

func TestWatchesOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		logs := make([]log, 4)
		stops := make([]func(), 4)
		for i := range logs {
			stops[i] = s.Watch("k", logs[i].wake)
		}
		pass(t, 1)
		stops[1]()
		stops[1]()
		stops[3]()
		require.Len(t, s.watches["k"], 2)
		take(t, s, "k", "a/1", time.Minute)
		require.NoError(t, release(t, s, lease.Release{Key: "k", Value: "a/1", Origin: "a"}))
		for i := range logs {
			require.Equal(t, i%2 == 0, slices.Contains(logs[i].all(), "a"))
		}
		stops[0]()
		stops[2]()
		require.Empty(t, s.watches)
	})
}

// Wake may read the store, whose lock is not held while it runs.
func TestWakeMayUseTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		var states []bool
		stop := s.Watch("k", func(string) {
			st, err := s.Inspect(t.Context(), "k")
			require.NoError(t, err)
			states = append(states, st.Held)
		})
		defer stop()
		pass(t, 1)
		take(t, s, "k", "a/1", time.Minute)
		require.NoError(t, release(t, s, lease.Release{Key: "k", Value: "a/1"}))
		require.Equal(t, []bool{false, false}, states)
	})
}

func TestWatchesComeAndGo(t *testing.T) {
	s := New()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				stop := s.Watch("k", func(string) {})
				s.Steal("k", "a/1", time.Minute)
				_ = release(t, s, lease.Release{Key: "k", Value: "a/1", Origin: "a"})
				stop()
			}
		})
	}
	wg.Wait()
	require.Empty(t, s.watches)
	require.Zero(t, s.Len())
}
