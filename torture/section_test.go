package torture

import (
	"context"
	"time"

	"github.com/actorlock/actorlock"
)

// enter is the critical section: it raises the counter by one, with time in
// between. It reports whether the lock was live for all of it.
func (c *caller) enter(ctx context.Context, key string, asked int64) bool {
	now, ok := c.live(ctx)
	if !ok {
		return false
	}
	begin := report{Op: read, Hold: c.hold, At: now, Key: key, TTL: int64(c.TTL), Asked: asked}
	if c.Broken == "ignores" {
		begin.Token = uint64(now)
	} else {
		l, _ := actorlock.LeaseFrom(ctx)
		begin.Token = l.Token
	}
	seen := c.register.ask(begin)
	if !seen.OK {
		return false
	}
	if !c.stay(ctx) {
		return c.writeLate(seen.Value)
	}
	if c.rand.IntN(16) == 0 && c.Broken == "" {
		if !c.again(ctx, key) {
			return false
		}
	}
	if now, ok = c.live(ctx); !ok {
		return c.writeLate(seen.Value)
	}
	return c.register.ask(report{Op: write, Hold: c.hold, At: now, Value: seen.Value + 1}).OK
}

// writeLate does after a loss what no program should: it writes, sometimes after
// a while, so that the register has something to refuse.
func (c *caller) writeLate(seen uint64) bool {
	if c.rand.IntN(2) == 0 {
		time.Sleep(time.Duration(c.rand.Int64N(int64(c.TTL))))
	}
	c.register.ask(report{Op: write, Hold: c.hold, Value: seen + 1})
	return false
}

// live takes a proof of life: the time comes first, as the lock may end between
// the two.
func (c *caller) live(ctx context.Context) (int64, bool) {
	now := clock()
	return now, ctx.Err() == nil || c.Broken != ""
}

// stay lets time pass, a little as a rule and several TTLs now and then, with a
// proof of life every millisecond or so.
func (c *caller) stay(ctx context.Context) bool {
	var d time.Duration
	switch n := c.rand.IntN(1000); {
	case c.Broken != "":
		d = c.TTL / 3
	case n < 850:
		return true
	case n < 1000-c.Long:
		d = time.Duration(c.rand.IntN(3000)) * time.Microsecond
	default:
		d = time.Duration(c.rand.Int64N(int64(5 * c.TTL / 2)))
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-tick.C {
		now, ok := c.live(ctx)
		if !ok {
			return false
		}
		c.register.tell(report{Op: alive, Hold: c.hold, At: now})
	}
	return true
}

// again re-enters the lock.
func (c *caller) again(ctx context.Context, key string) bool {
	inside := false
	_ = c.m.WithLock(ctx, key, func(ctx context.Context) error {
		now, ok := c.live(ctx)
		if ok {
			c.register.tell(report{Op: alive, Hold: c.hold, At: now})
		}
		inside = ok
		return nil
	}, actorlock.RetryAttempts(0))
	return inside
}
