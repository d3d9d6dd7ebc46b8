package lockers

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// Redsync is redsync v4 with one pool, as in its README: a mutex for each use,
// its own delays (50 to 250 ms at random) and tries, begun anew when these are
// used up.
func Redsync() Kind { return Kind{NameRedsync, openRedsync} }

func openRedsync(s Setup) (Locker, error) {
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	sync := redsync.New(goredis.NewPool(client))
	acquire := func(ctx context.Context, key string) (held, error) {
		m := sync.NewMutex(key, redsync.WithExpiry(s.TTL))
		for {
			err := m.LockContext(ctx)
			var taken *redsync.ErrTaken
			switch {
			case err == nil:
				return redsyncHeld{m}, nil
			case ctx.Err() != nil || !errors.As(err, &taken):
				return nil, err
			}
		}
	}
	return &peer{setup: s, acquire: acquire, close: client.Close}, nil
}

type redsyncHeld struct{ *redsync.Mutex }

func (h redsyncHeld) extend(ctx context.Context) (bool, error) {
	ok, err := h.ExtendContext(ctx)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) { // its word for "not ours any more"
		return false, nil
	}
	return ok, err
}

func (h redsyncHeld) release(ctx context.Context) error {
	_, err := h.UnlockContext(ctx)
	return err
}
