package faultproxy

import (
	"sync"
	"time"
)

// item is a piece of data, or the end of it, on its way.
type item struct {
	data  []byte
	due   time.Time
	end   bool
	stray bool    // a request of StallRequestOf
	reply []*rule // what is to be done about the reply to it
}

// queue holds what is under way in one direction. It is unbounded: whatever
// happens on the far side, the near side is read, so that the proxy notices when
// it goes away.
type queue struct {
	mu    sync.Mutex
	items []item
	ready chan struct{}
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) push(it item) {
	q.mu.Lock()
	q.items = append(q.items, it)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// pop waits for the next item. It has a single caller.
func (q *queue) pop(done <-chan struct{}) (item, bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			it := q.items[0]
			q.items = q.items[1:]
			q.mu.Unlock()
			return it, true
		}
		q.mu.Unlock()
		select {
		case <-q.ready:
		case <-done:
			return item{}, false
		}
	}
}
