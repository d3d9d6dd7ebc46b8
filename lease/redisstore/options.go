package redisstore

import (
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// Option changes a Store that is being made.
type Option func(*Store)

// RenewWith sends extensions on a client of their own, so that they never wait
// for a connection behind other commands. The store does not own it. It must
// lead to the same server, or cluster, and database.
func RenewWith(other redis.UniversalClient) Option {
	return func(s *Store) { s.renewals.client = other }
}

// Logger is where the store says what it cannot return as an error: missing
// rights for wake-ups, interrupted subscriptions, panics of the client. The
// default, also for nil, is slog.Default.
func Logger(logger *slog.Logger) Option {
	return func(s *Store) {
		if logger != nil {
			s.logger = logger
		}
	}
}

// MinReplicas makes an acquire count only when n replicas of the server that
// has the key have it too, by WAIT. Otherwise it is undone, which is an attempt
// that failed with lease.ErrTooFewReplicas. It narrows what a failover can
// cost, see the package documentation. The default, 0, asks no replica; with a
// negative n every call fails.
//
// An acquire then takes one more round trip, which lasts until n replicas have
// answered: at most a second, a third of the TTL, or half of the client's
// ReadTimeout, whichever is least. The client must be a *redis.Client,
// Sentinel's included, or a *redis.ClusterClient; the user needs the right to
// WAIT. Extensions and hand-overs on a node wait for no replica.
func MinReplicas(n int) Option {
	return func(s *Store) { s.replicas = n }
}
