package memstore

import (
	"time"

	"github.com/actorlock/actorlock/lease"
)

// Delete removes key whoever holds it, as an administrator's DEL would: the
// holder is not asked and no watch is woken. The holder learns of it from its
// next extension or release (lease.ErrLeaseGone).
func (s *Store) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.find(key) != nil {
		s.table.free(key, time.Now())
	}
}

// Steal gives key to value whoever holds it, as an administrator's SET would.
// The ttl is cut to whole milliseconds, to no less than one and no more than
// lease.MaxTTL; with 0 or lease.NoExpiry the key has no expiry and stays until
// it is deleted. No token is minted and no watch is woken. The holder learns of
// it from its next extension or release (lease.ErrLeaseTaken). An empty key is
// ignored.
func (s *Store) Steal(key, value string, ttl time.Duration) {
	if key == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.table.find(key)
	if e == nil {
		e = s.table.add(key)
	}
	var expiry time.Time
	if ttl > 0 {
		ttl = min(max(ttl, time.Millisecond), lease.MaxTTL)
		expiry = time.Now().Add(lease.WholeMillis(ttl))
	}
	e.token = 0
	e.hold(value, expiry)
}

// Len counts the keys that are held. It looks at every one.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	n := 0
	for i := range s.table.entries {
		if s.table.entries[i].held(now) {
			n++
		}
	}
	return n
}
