package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock/lease"
)

// Inspect looks at key without changing it. A key of another type is a
// permanent error.
func (s *Store) Inspect(ctx context.Context, key string) (lease.State, error) {
	if key == "" {
		return lease.State{}, errEmptyKey
	}
	c := call(ctx, inspectScript, &key, nil, "")
	if err := s.main.send(ctx, "inspect", c.alone[:]); err != nil {
		return lease.State{}, err
	}
	if err := c.failure("inspect"); err != nil {
		return lease.State{}, err
	}
	if free, ok := c.Val().(int64); ok && free == 0 {
		return lease.State{}, nil
	}
	holder, ttl, ok := holding(c.Val())
	if !ok {
		return lease.State{}, c.unexpected("inspect")
	}
	return lease.State{Held: true, Holder: holder, TTL: ttl}, nil
}

// Contended reports whether a node other than origin has left a mark at key.
func (s *Store) Contended(ctx context.Context, key, origin string) (bool, error) {
	if key == "" {
		return false, errEmptyKey
	}
	c := get(ctx, markKey(key))
	if err := s.main.send(ctx, "look for marks", c.alone[:]); err != nil {
		return false, err
	}
	if errors.Is(c.Err(), redis.Nil) {
		return false, nil
	}
	if err := c.failure("look for marks"); err != nil {
		return false, err
	}
	mark, ok := c.Val().(string)
	if !ok {
		return false, c.unexpected("look for marks")
	}
	for who := range strings.SplitSeq(mark, "\x00") {
		if who != origin {
			return true, nil
		}
	}
	return false, nil
}
