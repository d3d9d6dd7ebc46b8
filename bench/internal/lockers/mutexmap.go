package lockers

import (
	"context"
	"sync"
)

// MutexMap is what people write for one process: a map of mutexes, counted so
// that keys do not pile up. It heeds no context, has no TTL and no re-entry.
func MutexMap() Kind {
	return Kind{NameMutexMap, func(Setup) (Locker, error) {
		return &mutexMap{keys: make(map[string]*counted)}, nil
	}}
}

type mutexMap struct {
	mu   sync.Mutex
	keys map[string]*counted
}

type counted struct {
	sync.Mutex
	users int
}

// Do implements Locker.
func (m *mutexMap) Do(ctx context.Context, key string, section func(context.Context) error) error {
	m.mu.Lock()
	c := m.keys[key]
	if c == nil {
		c = new(counted)
		m.keys[key] = c
	}
	c.users++
	m.mu.Unlock()

	c.Lock()
	defer func() {
		c.Unlock()
		m.mu.Lock()
		defer m.mu.Unlock()
		if c.users--; c.users == 0 {
			delete(m.keys, key)
		}
	}()
	return section(ctx)
}

// Close implements Locker.
func (m *mutexMap) Close() error { return nil }
