package lockers

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"
)

// plainDelay is the time between the attempts of the loop that people write.
const plainDelay = 100 * time.Millisecond

// Plain is what people write without a library: SET NX PX in a loop, and a
// script that deletes the key if it is still theirs, over a go-redis client as
// it comes (its pool has ten connections for each processor).
func Plain() Kind { return Kind{NamePlain, openPlain} }

type plain struct {
	client          *redis.Client
	ttl             time.Duration
	remove, refresh *redis.Script
}

func openPlain(s Setup) (Locker, error) {
	p := &plain{
		client:  redis.NewClient(&redis.Options{Addr: s.Addr}),
		ttl:     s.TTL,
		remove:  redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`),
		refresh: redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`),
	}
	return &peer{setup: s, acquire: p.acquire, close: p.client.Close}, nil
}

func (p *plain) acquire(ctx context.Context, key string) (held, error) {
	value := rand.Text()
	for {
		ok, err := p.client.SetNX(ctx, key, value, p.ttl).Result()
		if err != nil {
			return nil, err
		}
		if ok {
			return &plainHeld{p, key, value}, nil
		}
		if err := pause(ctx, plainDelay); err != nil {
			return nil, err
		}
	}
}

type plainHeld struct {
	*plain
	key, value string
}

func (h *plainHeld) extend(ctx context.Context) (bool, error) {
	n, err := h.refresh.Run(ctx, h.client, []string{h.key}, h.value, h.ttl.Milliseconds()).Int()
	return n == 1, err
}

func (h *plainHeld) release(ctx context.Context) error {
	return h.remove.Run(ctx, h.client, []string{h.key}, h.value).Err()
}
