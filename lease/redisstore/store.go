package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock/lease"
)

// Store keeps locks in Redis. It implements lease.Store and is safe for
// concurrent use. Make one with New or Open.
//
// A call ends when its context ends, whatever the client does, unless the context
// was made by lease.Patiently; its command may then hang on in the background until the client's own time-outs end it. The
// number of such commands is bounded: beyond it calls fail at once.
type Store struct {
	main     lane
	renewals lane
	logger   *slog.Logger
	hub      hub
	replicas int         // that must have a lock that was acquired
	refused  atomic.Bool // a refused PUBLISH has been logged

	closing sync.Once
	owned   []redis.UniversalClient
	closed  error
}

var _ lease.Store = (*Store)(nil)

// New makes a store on a client of the caller's, who closes it, after the
// store is no longer used. The client's options are left as they are; advisable
// are ContextTimeoutEnabled and a ReadTimeout below a third of the TTL in use.
//
// With a nil client, or a *redis.AutoPipeliner, which heeds no context and
// repeats whole batches, every call fails with a permanent error.
func New(client redis.UniversalClient, opts ...Option) *Store {
	s := &Store{logger: slog.Default()}
	s.main.client = client
	s.renewals.client = client
	for _, opt := range opts {
		opt(s)
	}
	for _, l := range []*lane{&s.main, &s.renewals} {
		l.logger = s.logger
		l.broken = unfit(l.client)
	}
	if s.main.broken == nil {
		s.main.broken = uncounted(client, s.replicas)
	}
	if _, ok := client.(*redis.Ring); ok {
		s.logger.Warn("a redis.Ring moves keys when a shard fails: locks may be held twice, and wake-ups may be missed")
	}
	s.hub.start(&s.main, s.logger)
	return s
}

// unfit says why locks cannot be kept through a client.
func unfit(client redis.UniversalClient) error {
	if v := reflect.ValueOf(client); client == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("the Redis client is nil")
	}
	if _, ok := client.(*redis.AutoPipeliner); ok {
		return fmt.Errorf("a %T heeds no context and repeats whole batches: pass the client that it was made from", client)
	}
	return nil
}

// Traits says that leases expire, are fenced, and that releases wake waiters.
func (s *Store) Traits() lease.Traits {
	return lease.Traits{Expiry: true, Fencing: true, WakeUps: true}
}

// Close ends the watches and closes the clients that Open has made, not those
// that were passed in. It returns the first error of closing them; a repeat
// returns the same.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.hub.close()
		var errs []error
		for _, client := range s.owned {
			errs = append(errs, client.Close())
		}
		s.closed = errors.Join(errs...)
	})
	return s.closed
}

// publishRefused says once that wake-ups are not let through.
func (s *Store) publishRefused(why string) {
	if s.refused.CompareAndSwap(false, true) {
		s.logger.Warn("the server refuses to publish releases: waiters of other nodes only poll", "error", why)
	}
}
