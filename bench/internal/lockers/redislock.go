package lockers

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislockDelay is the linear back-off of the retry example in its documentation.
const redislockDelay = 100 * time.Millisecond

// Redislock is bsm/redislock with the linear back-off of its documentation, without a
// limit of attempts. It gives up by itself after the TTL when the context has no
// deadline; the loop begins anew then.
func Redislock() Kind { return Kind{NameRedislock, openRedislock} }

func openRedislock(s Setup) (Locker, error) {
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	locks := redislock.New(client)
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(redislockDelay)}
	acquire := func(ctx context.Context, key string) (held, error) {
		for {
			l, err := locks.Obtain(ctx, key, s.TTL, options)
			switch {
			case err == nil:
				return redislockHeld{l, s.TTL}, nil
			case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
				return nil, err
			}
		}
	}
	return &peer{setup: s, acquire: acquire, close: client.Close}, nil
}

type redislockHeld struct {
	*redislock.Lock
	ttl time.Duration
}

func (h redislockHeld) extend(ctx context.Context) (bool, error) {
	err := h.Refresh(ctx, h.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	return err == nil, err
}

func (h redislockHeld) release(ctx context.Context) error { return h.Release(ctx) }
