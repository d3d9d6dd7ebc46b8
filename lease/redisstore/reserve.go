package redisstore

import (
	"context"

	"github.com/actorlock/actorlock/lease"
)

// What the reserve script replies instead of a token.
const (
	reserveGone    = 0
	reserveTaken   = -1
	reserveForeign = -2
)

// Reserve sets aside r.Tokens fencing tokens, in one round trip. When the
// client sends it again by itself, a block is lost, which leaves a gap.
func (s *Store) Reserve(ctx context.Context, r lease.Reservation) (uint64, error) {
	ttl := r.TTL
	if ttl == 0 {
		ttl = lease.MaxTTL // none is asked for: nothing to refuse
	}
	if err := check(r.Key, ttl); err != nil {
		return 0, err
	}
	if r.Tokens < 1 {
		return 0, &lease.ConfigError{Field: "tokens", Reason: "are less than 1"}
	}
	fence := fenceKey(r.Key)
	c := call(ctx, reserveScript, &r.Key, &fence, r.Value,
		r.Tokens, r.TTL.Milliseconds(), fenceMargin.Milliseconds())
	if err := s.main.send(ctx, "reserve", c.alone[:]); err != nil {
		return 0, err
	}
	if err := c.failure("reserve"); err != nil {
		return 0, err
	}
	first, ok := c.Val().(int64)
	switch {
	case !ok:
		return 0, c.unexpected("reserve")
	case first == reserveGone:
		return 0, lost("reserve", lease.ErrLeaseGone)
	case first == reserveTaken:
		return 0, lost("reserve", lease.ErrLeaseTaken)
	case first == reserveForeign:
		return 0, lease.ErrNoTokens
	}
	return uint64(first), nil
}
