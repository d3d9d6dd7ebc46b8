package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

// The smallest times there are, of which fractions are nothing, and the longest
// make neither a panic in the background nor a busy loop.
//
// contract 1.2
func TestCase_B072(t *testing.T) {
	smallest := []time.Duration{time.Millisecond, time.Millisecond + 1, 1500 * time.Microsecond, 2 * time.Millisecond, 3 * time.Millisecond}
	bubble(t, func(t *testing.T) {
		log := quietLogger(t)
		store := &recorder{Store: memstore.New()}
		m := startManager(t, actorlock.Config{Store: store, Logger: log.Logger})
		for _, ttl := range append(smallest, lease.MaxTTL) {
			for _, delay := range []time.Duration{0, 1, math.MaxInt64} {
				for _, policy := range []actorlock.Policy{actorlock.LoseAtOnce, actorlock.RetryUntilDeadline} {
					key := fmt.Sprint(ttl, delay, policy)
					opts := []actorlock.Option{actorlock.TTL(ttl), actorlock.RetryDelay(delay), actorlock.OnRedisError(policy), retryForever}
					before := len(store.seen().extends)
					h := hold(t, m, key, opts...)
					w := start(m, key, nothing, append(opts, actorlock.Wait(math.MaxInt64))...)
					short := start(m, key, never(t), append(opts, actorlock.Wait(1))...)
					require.ErrorIs(t, short.wait(), actorlock.ErrHeld)
					pass(30 * time.Millisecond)
					require.NoError(t, h.ctx.Err())
					require.LessOrEqual(t, len(store.seen().extends)-before, int(30*time.Millisecond/(ttl.Truncate(time.Millisecond)/4))+1)
					require.NoError(t, h.let())
					require.NoError(t, w.wait())
				}
			}
		}
		require.Zero(t, log.count("panic"))
	})
	log := quietLogger(t)
	srv := redisServer(t)
	m := startManager(t, actorlock.Config{Store: redisStore(t, userClient(t, srv.Addr())), Logger: log.Logger})
	for _, ttl := range smallest {
		err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
			return nil
		}, actorlock.TTL(ttl), actorlock.RetryDelay(0))
		var lost *actorlock.LockLostError
		if err != nil && !errors.As(err, &lost) {
			refused(t, err)
		}
	}
	require.Zero(t, log.count("panic"))
	for field, opt := range map[string]actorlock.Option{
		"TTL": actorlock.TTL(lease.MaxTTL + 1), "RetryDelay": actorlock.RetryDelay(math.MinInt64),
		"Wait": actorlock.Wait(0), "RetryAttempts": actorlock.RetryAttempts(-2),
	} {
		err := m.WithLock(t.Context(), "k", never(t), opt)
		require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
	_, err := actorlock.New(actorlock.Config{PollerGap: -1})
	require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
}
