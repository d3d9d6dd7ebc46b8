package memstore

import (
	"slices"
	"sync"
	"time"
)

// watch is one subscription to the releases of a key. Its mutex is held while
// wake runs: nothing less keeps a call from beginning after stop has returned.
type watch struct {
	mu      sync.Mutex
	stopped bool
	wake    func(origin string)
}

func (w *watch) call(origin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.wake(origin)
	}
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}

// Watch calls wake with the releaser's origin after each release of key, from
// the releaser's goroutine, until stop is called. Expiries wake nobody: who
// waits knows the holder's remaining time and tries again by itself.
//
// The watch is effective when Watch returns. A release between the caller's
// last attempt and that moment has gone unnoticed, so wake("") is called once,
// soon after, from a timer's goroutine: never from within Watch, whose caller
// may hold a lock that wake needs.
//
// Calls of wake do not overlap. Stop waits for one that is running, so wake
// must neither block, nor call stop, nor release the key. A second stop does
// nothing.
func (s *Store) Watch(key string, wake func(origin string)) (stop func()) {
	w := &watch{wake: wake}
	s.mu.Lock()
	// Clipped, so that append copies: releasers walk the old slice unlocked.
	s.watches[key] = append(slices.Clip(s.watches[key]), w)
	s.mu.Unlock()
	first := time.AfterFunc(0, func() { w.call("") })
	return func() {
		first.Stop()
		w.stop()
		s.unwatch(key, w)
	}
}

func (s *Store) unwatch(key string, w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.watches[key]
	i := slices.Index(old, w)
	switch {
	case i < 0:
	case len(old) == 1:
		delete(s.watches, key)
	default:
		s.watches[key] = slices.Concat(old[:i], old[i+1:])
	}
}
