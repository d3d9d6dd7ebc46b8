package actorlock_test

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
)

// Options of any value are either refused, by name and before anything happens,
// or make a call that ends.
func FuzzOptions(f *testing.F) {
	f.Add(int64(30*time.Second), 10, int64(200*time.Millisecond), int64(time.Second), 0, byte(0))
	for _, n := range []int64{0, 1, -1, int64(time.Millisecond), int64(time.Millisecond) - 1, math.MaxInt64, math.MinInt64, int64(lease.MaxTTL), int64(lease.MaxTTL) + 1} {
		f.Add(n, int(n), n, n, int(n), byte(n))
		f.Add(int64(time.Second), int(n), int64(time.Second), int64(time.Second), 1, byte(7))
		f.Add(n, 0, n, int64(1), 0, byte(2))
		f.Add(int64(time.Second), -1, n, n, 1, byte(1))
	}
	m := fuzzManager(f)
	f.Fuzz(func(t *testing.T, ttl int64, attempts int, delay, wait int64, policy int, flags byte) {
		opts := []actorlock.Option{
			nil, actorlock.TTL(time.Duration(ttl)), actorlock.RetryAttempts(attempts), actorlock.RetryDelay(time.Duration(delay)),
			actorlock.Wait(time.Duration(wait)), actorlock.OnRedisError(actorlock.Policy(policy)),
			actorlock.HandOver(flags&1 != 0), actorlock.Fencing(flags&2 != 0),
		}
		if flags&4 != 0 {
			opts = append(opts, actorlock.AwaitCallback())
		}
		good := ttl >= int64(time.Millisecond) && ttl <= int64(lease.MaxTTL) && attempts >= -1 && delay >= 0 && wait > 0 &&
			(policy == int(actorlock.LoseAtOnce) || policy == int(actorlock.RetryUntilDeadline))
		other, err := actorlock.New(actorlock.Config{Defaults: opts, Logger: slog.New(slog.DiscardHandler)})
		require.Equal(t, good, err == nil, "as defaults: %v", err)
		if good {
			require.NoError(t, other.Shutdown(t.Context()))
		} else {
			require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		ran := false
		err = m.WithLock(ctx, "key", func(ctx context.Context) error {
			ran = true
			return nil
		}, opts...)
		if !good {
			require.ErrorIs(t, err, actorlock.ErrInvalidConfig)
			require.False(t, ran)
			return
		}
		// A wait, or a TTL, of next to nothing may be over before its lock is there.
		if err == nil {
			require.True(t, ran)
		} else if ttl > int64(time.Second) && wait > int64(time.Second) {
			t.Errorf("TTL %v, wait %v: %v", time.Duration(ttl), time.Duration(wait), err)
		}
		require.NoError(t, ctx.Err(), "the call took too long")
	})
}
