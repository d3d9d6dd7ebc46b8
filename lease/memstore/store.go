// Package memstore is the in-memory lease store: locks that live and die with
// their process. Managers that share one Store exclude each other like the
// nodes of a cluster, which makes it a server-less stand-in for tests, and the
// right store for a program of one process.
//
// Expiry is exact: it is compared with the clock at every access, so a key is
// gone from the very nanosecond its time to live ends, and no goroutine or
// timer stands by for it. All of it runs under testing/synctest.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/actorlock/actorlock/lease"
)

// Store is an in-memory lease.Store. Use New to make one. It is safe for
// concurrent use, needs no closing, and its size is bounded by the keys that
// are held and the watches that are open.
//
// Commands are executed at once and never cut short: a context that is done
// beforehand refuses the command (lease.NotExecuted), one that ends later has
// no effect.
type Store struct {
	mu      sync.Mutex
	table   table
	token   uint64              // the last fencing token minted
	watches map[string][]*watch // slices are replaced, never changed
}

var _ lease.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{table: newTable(), watches: map[string][]*watch{}}
}

// Traits reports that the store has expiry, fencing tokens and wake-ups.
func (s *Store) Traits() lease.Traits {
	return lease.Traits{Expiry: true, Fencing: true, WakeUps: true}
}

// Acquire makes one attempt to take a.Key, as lease.Store describes. The TTL is
// cut to whole milliseconds. An empty key and a TTL below 1 ms or above
// lease.MaxTTL are refused with a *lease.ConfigError.
func (s *Store) Acquire(ctx context.Context, a lease.Acquisition) (lease.Attempt, error) {
	const op = "acquire"
	if err := ready(ctx, op, a.Key); err != nil {
		return lease.Attempt{}, err
	}
	ttl, err := wholeTTL(op, a.TTL)
	if err != nil {
		return lease.Attempt{}, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.table.sweep(now)
	e := s.table.find(a.Key)
	if e != nil && e.held(now) && e.value != a.Value {
		if a.Mark > 0 {
			e.mark(a.Origin, now, a.Mark)
		}
		return lease.Attempt{Holder: lease.Holder(e.value), TTL: e.remaining(now)}, nil
	}
	if e == nil {
		e = s.table.add(a.Key)
	}
	if !e.held(now) {
		e.token = 0
	}
	if a.Fence && e.token == 0 {
		e.token = s.mint(now, 1)
	}
	expiry := now.Add(ttl)
	if e.held(now) && e.expiry.After(expiry) {
		expiry = e.expiry // never less than it has, as lease.Store describes
	}
	e.hold(a.Value, expiry)
	e.unmark(a.Origin)
	if !a.Fence {
		return lease.Attempt{Acquired: true}, nil
	}
	return lease.Attempt{Acquired: true, Token: e.token}, nil
}

// Contended reports whether a node other than origin has left a mark on key
// that has not expired yet.
func (s *Store) Contended(ctx context.Context, key, origin string) (bool, error) {
	if err := ready(ctx, "contended", key); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.table.find(key)
	return e != nil && e.markedByOther(origin, time.Now()), nil
}

// Inspect looks at key without changing it.
func (s *Store) Inspect(ctx context.Context, key string) (lease.State, error) {
	if err := ready(ctx, "inspect", key); err != nil {
		return lease.State{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	e := s.table.find(key)
	if e == nil || !e.held(now) {
		return lease.State{}, nil
	}
	return lease.State{Held: true, Holder: lease.Holder(e.value), TTL: e.remaining(now)}, nil
}

// mint sets n consecutive tokens aside and returns the first. One counter
// serves all keys, so that nothing has to be kept for a key that is free, and
// the clock puts the tokens of a new store above those of an earlier one.
func (s *Store) mint(now time.Time, n int) (first uint64) {
	first = max(s.token+1, uint64(now.UnixMicro()))
	s.token = first + uint64(n) - 1
	return first
}

// ready refuses a command whose context is done or whose key is empty.
func ready(ctx context.Context, op, key string) error {
	if err := alive(ctx, op); err != nil {
		return err
	}
	return named(op, key)
}

func named(op, key string) error {
	if key == "" {
		return refused(op, "Key", "must not be empty")
	}
	return nil
}

func alive(ctx context.Context, op string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &lease.StoreError{Op: op, Kind: lease.NotExecuted, Err: err}
}

func wholeTTL(op string, ttl time.Duration) (time.Duration, error) {
	switch {
	case ttl < time.Millisecond:
		return 0, refused(op, "TTL", "must be at least 1ms")
	case ttl > lease.MaxTTL:
		return 0, refused(op, "TTL", "must be at most "+lease.MaxTTL.String())
	}
	return lease.WholeMillis(ttl), nil
}

func refused(op, field, reason string) error {
	return &lease.StoreError{
		Op: op, Kind: lease.Permanent,
		Err: &lease.ConfigError{Field: field, Reason: reason},
	}
}
