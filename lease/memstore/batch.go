package memstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/actorlock/actorlock/lease"
)

// chunk is how many leases of a batch are worked on under one lock: a batch of
// thousands must not keep the others waiting, and its verdicts fit on the stack.
const chunk = 32

// Extend sets the remaining time of the leases in batch, cut to whole
// milliseconds, and reports a verdict on each as lease.Store describes: nil,
// lease.ErrLeaseGone or lease.ErrLeaseTaken, a *lease.ConfigError for an empty
// key or a TTL out of bounds, or a *lease.StoreError when ctx is done. It
// reports from the caller's goroutine and with no lock held.
func (s *Store) Extend(ctx context.Context, batch []lease.Extension, report func(i int, err error)) {
	for from := 0; from < len(batch); from += chunk {
		var verdicts [chunk]error
		part := batch[from:min(from+chunk, len(batch))]
		s.extend(ctx, part, verdicts[:])
		for i := range part {
			report(from+i, verdicts[i])
		}
	}
}

func (s *Store) extend(ctx context.Context, batch []lease.Extension, verdicts []error) {
	const op = "extend"
	if err := alive(ctx, op); err != nil {
		fill(verdicts, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i, x := range batch {
		ttl, err := wholeTTL(op, x.TTL)
		if err == nil {
			err = named(op, x.Key)
		}
		var e *entry
		if err == nil {
			e, err = s.ours(op, x.Key, x.Value, now)
		}
		if err == nil {
			e.expiry = now.Add(ttl)
		}
		verdicts[i] = err
	}
}

// Release frees the keys in batch that still hold their value, wakes those who
// watch them, and reports like Extend. Its verdicts are always certain. Tokens
// are taken back if none was minted since the block was reserved.
func (s *Store) Release(ctx context.Context, batch []lease.Release, report func(i int, err error)) {
	for from := 0; from < len(batch); from += chunk {
		var verdicts [chunk]error
		var wakes [chunk][]*watch
		part := batch[from:min(from+chunk, len(batch))]
		s.release(ctx, part, verdicts[:], wakes[:])
		for i := range part {
			wakeAll(wakes[i], part[i].Origin)
			report(from+i, verdicts[i])
		}
	}
}

// wakeAll begins anywhere: in a fixed order the scheduler would let the same
// watcher win the key again and again.
func wakeAll(watches []*watch, origin string) {
	if len(watches) == 0 {
		return
	}
	first := rand.IntN(len(watches))
	for _, w := range watches[first:] {
		w.call(origin)
	}
	for _, w := range watches[:first] {
		w.call(origin)
	}
}

func (s *Store) release(ctx context.Context, batch []lease.Release, verdicts []error, wakes [][]*watch) {
	const op = "release"
	if err := alive(ctx, op); err != nil {
		fill(verdicts, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i := range batch {
		r := &batch[i]
		if verdicts[i] = named(op, r.Key); verdicts[i] != nil {
			continue
		}
		e, err := s.ours(op, r.Key, r.Value, now)
		if err != nil {
			verdicts[i] = err
			continue
		}
		// A Used below the lease's own token is a caller's slip, and taking it at
		// its word would hand out tokens a second time.
		if r.Reserved > 0 && s.token == r.Reserved && r.Used >= e.token && r.Used < r.Reserved {
			s.token = r.Used
		}
		s.table.free(r.Key, now)
		wakes[i] = s.watches[r.Key]
	}
}

// Reserve sets r.Tokens consecutive fencing tokens aside for a lease that is
// still ours, and returns the first. A TTL of 0 leaves the expiry alone; any
// other is treated as by Extend. On an error nothing is minted or changed.
func (s *Store) Reserve(ctx context.Context, r lease.Reservation) (first uint64, err error) {
	const op = "reserve"
	if err := ready(ctx, op, r.Key); err != nil {
		return 0, err
	}
	if r.Tokens < 1 || r.Tokens > maxBlock {
		return 0, refused(op, "Tokens", fmt.Sprintf("must be between 1 and %d", maxBlock))
	}
	var ttl time.Duration
	if r.TTL != 0 {
		if ttl, err = wholeTTL(op, r.TTL); err != nil {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	e, err := s.ours(op, r.Key, r.Value, now)
	if err != nil {
		return 0, err
	}
	if r.TTL != 0 {
		e.expiry = now.Add(ttl)
	}
	return s.mint(now, r.Tokens), nil
}

// maxBlock bounds one reservation, so that no slip of a caller's can run the
// counter years ahead of the clock.
const maxBlock = 1 << 20

func fill(verdicts []error, err error) {
	for i := range verdicts {
		verdicts[i] = err
	}
}

// ours finds the entry of a lease that still holds value.
func (s *Store) ours(op, key, value string, now time.Time) (*entry, error) {
	e := s.table.find(key)
	switch {
	case e == nil || !e.held(now):
		return nil, &lease.StoreError{Op: op, Kind: lease.Permanent, Err: lease.ErrLeaseGone}
	case e.value != value:
		return nil, &lease.StoreError{Op: op, Kind: lease.Permanent, Err: lease.ErrLeaseTaken}
	}
	return e, nil
}
