package redisstore

import (
	"context"
	"time"

	"github.com/actorlock/actorlock/lease"
)

// fenceMargin is how much longer than the lock its fencing token is stored.
// After that the clock alone keeps tokens rising.
const fenceMargin = time.Hour

// Acquire makes one attempt to take a.Key, in one round trip, and in another
// one leaves a mark when the key is held and a.Mark is above 0.
func (s *Store) Acquire(ctx context.Context, a lease.Acquisition) (lease.Attempt, error) {
	if err := check(a.Key, a.TTL); err != nil {
		return lease.Attempt{}, err
	}
	if a.Value == "" { // which a foreign key may hold: it would be taken for ours
		return lease.Attempt{}, &lease.ConfigError{Field: "value", Reason: "is empty"}
	}
	c := &acquire{lock: a.Key, fence: fenceKey(a.Key), value: a.Value, ttl: a.TTL.Milliseconds()}
	if a.Fence {
		c.expiry = (a.TTL + fenceMargin).Milliseconds()
	}
	c.call(ctx, acquireScript, &c.lock, &c.fence, &c.value, &c.ttl, &c.expiry)
	if err := s.sendAcquire(ctx, a, &c.command); err != nil {
		return lease.Attempt{}, err
	}
	found, err := attempt(&c.command)
	if err == nil && !found.Acquired && a.Mark > 0 {
		s.leaveMark(ctx, a)
	}
	return found, err
}

// acquire is the command of an acquire, with its arguments.
type acquire struct {
	command
	lock, fence, value string
	ttl, expiry        int64
}

// attempt reads the result of the acquire script.
func attempt(c *command) (lease.Attempt, error) {
	if err := c.failure("acquire"); err != nil {
		return lease.Attempt{}, err
	}
	if token, ok := c.Val().(int64); ok {
		found := lease.Attempt{Acquired: true, Token: uint64(token)}
		if token < 0 {
			found.Token, found.ForeignKey = uint64(-token), true
		}
		return found, nil
	}
	holder, ttl, ok := holding(c.Val())
	if !ok {
		return lease.Attempt{}, c.unexpected("acquire")
	}
	return lease.Attempt{Holder: holder, TTL: ttl}, nil
}

// holding reads how the scripts describe a key that is held.
func holding(reply any) (holder string, ttl time.Duration, ok bool) {
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return "", 0, false
	}
	holder, ok = pair[0].(string)
	millis, isInt := pair[1].(int64)
	if millis < 0 {
		ttl = lease.NoExpiry
	} else {
		// Less than a millisecond is not nothing.
		ttl = max(time.Duration(millis)*time.Millisecond, time.Millisecond)
	}
	return holder, ttl, ok && isInt
}

// markPatience bounds what a mark may delay the attempt that it comes after.
const markPatience = 100 * time.Millisecond

// leaveMark tells the holder's node that a.Origin waits. It is a hint: what
// was found out stands whether or not it arrives.
func (s *Store) leaveMark(ctx context.Context, a lease.Acquisition) {
	ctx, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	millis := max(a.Mark, time.Millisecond).Milliseconds()
	mark := markKey(a.Key)
	c := call(ctx, markScript, &mark, nil, a.Origin, millis)
	err := s.main.send(ctx, "mark", c.alone[:])
	if err == nil {
		err = c.failure("mark")
	}
	if err != nil {
		s.logger.Debug("no mark was left at a held lock", "key", a.Key, "error", err)
	}
}
