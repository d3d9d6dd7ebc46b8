package redisstore

import (
	"log/slog"
	"sync"
	"time"
)

// hub knows who watches what. One subscription serves all watches of a store;
// the goroutine behind it lives while there are any. It is safe for concurrent
// use and never does I/O under its lock.
type hub struct {
	lane   *lane
	logger *slog.Logger
	kick   chan struct{} // something has changed; capacity 1

	pingEvery time.Duration // of a quiet connection; twice without an answer is its end

	health health

	mu       sync.Mutex
	topics   map[string]*topic   // by channel
	changed  map[string]struct{} // channels that the subscription has to look at
	watching int                 // watches in all
	running  chan struct{}       // closed when the goroutine has ended; nil when there is none
	closed   bool
}

// topic is the watches of one key.
type topic struct {
	watches map[*watch]struct{}
	live    bool // the server has confirmed the subscription
}

// watch is one call of Watch. Its mutex is held while wake runs: nothing less
// keeps a call from beginning after stop has returned.
type watch struct {
	mu      sync.Mutex
	stopped bool
	wake    func(origin string)
	told    bool // of its becoming effective; guarded by the hub's lock
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

// Watch calls wake on releases of key, by one subscription that all watches of
// the store share. It is opened for the first watch and closed soon after the
// last one stopped. wake("") is called once the server has confirmed the
// subscription, and again whenever it had to be renewed. Without the right to
// subscribe, which is logged once, wake is not called.
//
// Calls of wake do not overlap. Stop waits for one that is running, so wake
// must neither block nor call stop. A second stop does nothing. Neither Watch
// nor stop waits for the server.
func (s *Store) Watch(key string, wake func(origin string)) (stop func()) {
	w := &watch{wake: wake}
	channel := channelOf(key)
	s.hub.add(channel, w)
	return func() {
		w.stop()
		s.hub.remove(channel, w)
	}
}

func (h *hub) start(l *lane, logger *slog.Logger) {
	h.lane, h.logger = l, logger
	h.kick = make(chan struct{}, 1)
	h.pingEvery = pingEvery
	h.topics = map[string]*topic{}
	h.changed = map[string]struct{}{}
}

func (h *hub) add(channel string, w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.lane.broken != nil {
		return
	}
	t := h.topics[channel]
	if t == nil {
		t = &topic{watches: map[*watch]struct{}{}}
		h.topics[channel] = t
	}
	t.watches[w] = struct{}{}
	h.watching++
	h.changed[channel] = struct{}{}
	if h.running == nil {
		h.running = make(chan struct{})
		go h.run()
	}
	h.nudge()
}

func (h *hub) remove(channel string, w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[channel]
	if t == nil {
		return
	}
	if _, ok := t.watches[w]; !ok {
		return
	}
	delete(t.watches, w)
	h.watching--
	h.changed[channel] = struct{}{}
	// The topic itself stays until the subscription has ended: a watch that
	// comes back before that finds it live.
	h.nudge()
}

// close ends all watches and waits for the subscription to end, for a while: a
// client that hangs may keep it. The stop functions stay callable.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	var all []*watch
	for _, t := range h.topics {
		for w := range t.watches {
			all = append(all, w)
		}
		clear(t.watches)
	}
	h.watching = 0
	running := h.running
	h.nudge()
	h.mu.Unlock()
	for _, w := range all {
		w.stop()
	}
	if running != nil {
		select {
		case <-running:
		case <-time.After(closeWithin):
		}
	}
}

func (h *hub) nudge() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// wanted is what the subscription has to do, of what has changed since it was
// last asked: channels that are watched and not in subscribed, those that are
// and no longer watched, and watches that have joined a live topic.
func (h *hub) wanted(subscribed map[string]struct{}) (add, drop []string, joined []*watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel := range h.changed {
		t := h.topics[channel]
		_, on := subscribed[channel]
		switch {
		case t == nil || len(t.watches) == 0:
			delete(h.topics, channel)
			if on {
				drop = append(drop, channel)
			}
		case !on:
			add = append(add, channel)
		case t.live:
			for w := range t.watches {
				if !w.told {
					w.told = true
					joined = append(joined, w)
				}
			}
		}
	}
	clear(h.changed)
	return add, drop, joined
}

// idle reports whether nothing is watched, and whether that is for good.
func (h *hub) idle() (idle, closed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watching == 0, h.closed
}

// confirmed is called when the server has confirmed a subscription.
func (h *hub) confirmed(channel string) {
	h.mu.Lock()
	t := h.topics[channel]
	if t == nil {
		h.mu.Unlock()
		return
	}
	t.live = true
	all := make([]*watch, 0, len(t.watches))
	for w := range t.watches {
		w.told = true
		all = append(all, w)
	}
	h.mu.Unlock()
	for _, w := range all {
		w.call("")
	}
}

// published is called for each message.
func (h *hub) published(channel, origin string) {
	h.mu.Lock()
	t := h.topics[channel]
	var all []*watch
	if t != nil {
		for w := range t.watches {
			all = append(all, w)
		}
	}
	h.mu.Unlock()
	for _, w := range all {
		w.call(origin)
	}
}

// interrupted is called when a subscription has ended: nothing is live, and the
// next one has to look at everything. It reports whether nobody watches any
// more; the goroutine must then end, and the next watch starts another.
func (h *hub) interrupted() (retired bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watching == 0 {
		clear(h.topics)
		clear(h.changed)
		close(h.running)
		h.running = nil
		return true
	}
	for channel, t := range h.topics {
		t.live = false
		h.changed[channel] = struct{}{}
	}
	return false
}
