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
