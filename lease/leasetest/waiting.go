package leasetest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

func (s *suite) contended(key, origin string) bool {
	s.Helper()
	yes, err := s.Contended(s.ctx, key, origin)
	require.NoError(s, err)
	return yes
}

// wait makes an attempt that finds key held and leaves a mark.
func (s *suite) wait(key, origin string, mark time.Duration) {
	s.Helper()
	at := s.try(lease.Acquisition{Key: key, Value: lease.NewValue(origin), Origin: origin, Mark: mark})
	require.False(s, at.Acquired)
}

func marks(s *suite) {
	key := newKey()
	require.False(s, s.contended(key, "a"), "a key never seen")
	s.take(key, long)
	require.False(s, s.contended(key, "a"))

	s.wait(key, "b", long)
	require.True(s, s.contended(key, "a"))
	require.False(s, s.contended(key, "b"), "its own mark")
	require.False(s, s.contended(newKey(), "a"), "another key")

	s.wait(key, "c", long)
	for _, origin := range []string{"a", "b", "c"} {
		require.True(s, s.contended(key, origin), "two others wait: %s", origin)
	}
}

func marksExpire(s *suite) {
	key := newKey()
	value, _ := s.take(key, long)
	left := time.Now()
	s.wait(key, "b", short)
	s.eventually(func() bool { return !s.contended(key, "a") }, "the mark expires")
	require.GreaterOrEqual(s, time.Since(left), short-slack, "expired early")
	require.True(s, s.held(key), "the mark ends, not the lease")
	s.drop(key, value)
}

func marksOnlyWhenHeld(s *suite) {
	key := newKey()
	value := lease.NewValue("b")
	for range 2 { // free, then its own
		at := s.try(lease.Acquisition{Key: key, Value: value, Origin: "b", Mark: long})
		require.True(s, at.Acquired)
		require.False(s, s.contended(key, "a"), "who got the key does not wait for it")
	}
	s.wait(key, "c", 0)
	require.False(s, s.contended(key, "a"), "no mark was asked for")

	// A mark gives nobody the key and keeps nobody from it.
	s.wait(key, "c", long)
	s.drop(key, value)
	require.False(s, s.held(key))
	s.take(key, long)
}

// wakes collects the origins of wake-ups.
type wakes struct {
	mu   sync.Mutex
	seen map[string]int
}

func (w *wakes) wake(origin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]int{}
	}
	w.seen[origin]++
}

func (w *wakes) count(origin string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[origin]
}

// watch opens a watch and waits until it has become effective.
func (s *suite) watch(key string) (w *wakes, stop func()) {
	s.Helper()
	w = &wakes{}
	stop = s.Watch(key, w.wake)
	s.eventually(func() bool { return w.count("") > 0 }, "the watch becomes effective")
	return w, stop
}

// cycle takes key and releases it with an origin.
func (s *suite) cycle(key, origin string) {
	s.Helper()
	value, _ := s.take(key, long)
	require.NoError(s, s.release(lease.Release{Key: key, Value: value, Origin: origin})[0])
}

// Watch must not call wake by itself before it returns: its caller may hold a
// lock that wake needs.
func watchEffective(s *suite) {
	var mu sync.Mutex
	var woken atomic.Int64
	watching := make(chan func(), 1)
	go func() {
		mu.Lock()
		defer mu.Unlock()
		watching <- s.Watch(newKey(), func(string) {
			mu.Lock()
			defer mu.Unlock()
			woken.Add(1)
		})
	}()
	select {
	case stop := <-watching:
		s.eventually(func() bool { return woken.Load() > 0 }, "the watch becomes effective")
		stop()
	case <-time.After(patience):
		require.Fail(s, "Watch blocks, or calls wake before it returns")
	}
}

func watchRelease(s *suite) {
	key := newKey()
	w1, stop1 := s.watch(key)
	w2, stop2 := s.watch(key)
	defer stop1()
	defer stop2()
	for _, origin := range []string{"one", "two"} {
		s.cycle(key, origin)
		s.eventually(func() bool { return w1.count(origin) > 0 && w2.count(origin) > 0 }, "both are woken")
	}
	// In a batch too, for each of its keys.
	keys := make([]string, 40)
	batch := make([]lease.Release, len(keys))
	watches := make([]*wakes, len(keys))
	for i := range keys {
		keys[i] = newKey()
		var stop func()
		watches[i], stop = s.watch(keys[i])
		defer stop()
		value, _ := s.take(keys[i], long)
		batch[i] = lease.Release{Key: keys[i], Value: value, Origin: "batch", Certain: i%2 == 0}
	}
	requireVerdicts(s, make([]error, len(batch)), s.release(batch...))
	for _, w := range watches {
		s.eventually(func() bool { return w.count("batch") > 0 }, "every key's watch is woken")
	}
}

// What is no release of the key wakes nobody with an origin. The release at
// the end tells when the wake-ups before it would have come.
func watchOnlyReleases(s *suite) {
	key := newKey()
	w, stop := s.watch(key)
	defer stop()
	value, _ := s.take(key, long)
	s.cycle(newKey(), "other key")
	require.ErrorIs(s, s.release(lease.Release{Key: key, Value: "x/y", Origin: "taken"})[0], lease.ErrLeaseTaken)
	require.NoError(s, s.extend(lease.Extension{Key: key, Value: value, TTL: long})[0])
	s.drop(key, value)
	require.ErrorIs(s, s.release(lease.Release{Key: key, Value: value, Origin: "gone"})[0], lease.ErrLeaseGone)
	s.cycle(key, "end")
	s.eventually(func() bool { return w.count("end") > 0 }, "the watch is woken")
	for _, origin := range []string{"other key", "taken", "gone"} {
		require.Zero(s, w.count(origin), "woken by %s", origin)
	}
}

func watchStop(s *suite) {
	key := newKey()
	w1, stop1 := s.watch(key)
	w2, stop2 := s.watch(key)
	defer stop2()
	stop1()
	s.cycle(key, "after")
	s.eventually(func() bool { return w2.count("after") > 0 }, "the other watch goes on")
	require.Zero(s, w1.count("after"), "woken after stop")

	// A watch that is stopped at once, and one that follows it.
	s.Watch(key, func(string) {})()
	w3, stop3 := s.watch(key)
	defer stop3()
	s.cycle(key, "again")
	s.eventually(func() bool { return w3.count("again") > 0 && w2.count("again") > 0 }, "both are woken")
}

// However stop races with releases, no call of wake begins after it.
func watchStopRace(s *suite) {
	key := newKey()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(quit)
	wg.Go(func() {
		value := lease.NewValue("race")
		for {
			select {
			case <-quit:
				return
			default:
			}
			_, err := s.Acquire(s.ctx, lease.Acquisition{Key: key, Value: value, TTL: long})
			if err != nil {
				s.Errorf("acquire: %v", err)
				return
			}
			s.Release(s.ctx, []lease.Release{{Key: key, Value: value, Origin: "race"}}, func(_ int, err error) {
				if err != nil {
					s.Errorf("release: %v", err)
				}
			})
		}
	})
	for range 30 {
		// Many watches make a release busy while they stop one by one.
		var stopped [32]atomic.Bool
		var stops [len(stopped)]func()
		var woken atomic.Bool
		for i := range stops {
			stops[i] = s.Watch(key, func(origin string) {
				if stopped[i].Load() {
					s.Error("woken after stop")
				}
				if origin == "race" {
					woken.Store(true)
				}
			})
		}
		s.eventually(woken.Load, "a release wakes")
		for i, stop := range stops {
			stop()
			stopped[i].Store(true)
		}
	}
}
