package actorlock

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
)

// WithLock runs callback while it holds the lock key, and returns the
// callback's own value and error. Other errors are:
//
//   - *AcquireError: the lock was not acquired, callback was not run.
//   - *LockLostError: the lock was lost while callback was running. The call
//     returns at once; callback, whose context has ended, may still be running
//     while another node has the lock. With AwaitCallback, or when the loss is
//     found at the release, callback has returned and its value comes along.
//   - ErrInvalidConfig: a bad option, key or callback; nothing was sent.
//
// callback's context carries the lease (LeaseFrom) and ends when the lock is
// lost, at shutdown, when ctx ends and after callback has returned, each with
// its own context.Cause. When ctx ends callback still holds the lock until it
// returns. A call with a context that descends from it, for the same key and
// manager, runs its callback at once: the lock is re-entrant.
//
// A panic of callback is raised again in the caller as a *PanicError, and
// runtime.Goexit ends the caller, after the lock was released.
//
// After Shutdown (and Drain) a call does not return before its own ctx ends,
// and for ever when that never ends; cancel the contexts of your workers before
// you shut down, or set Config.FailAfterShutdown.
//
// It is safe for concurrent use.
func WithLock[T any](ctx context.Context, m *Manager, key string, callback func(context.Context) (T, error), opts ...Option) (T, error) {
	var value, none T
	var call func(context.Context) error
	if callback != nil {
		call = func(ctx context.Context) (err error) {
			value, err = callback(ctx)
			return err
		}
	}
	settled, err := m.withLock(ctx, key, call, opts)
	if !settled {
		return none, err // callback may still write to value
	}
	return value, err
}

// WithLock is like the function WithLock, for callbacks without a value.
func (m *Manager) WithLock(ctx context.Context, key string, callback func(context.Context) error, opts ...Option) error {
	_, err := m.withLock(ctx, key, callback, opts)
	return err
}

// withLock also reports whether callback has run to its end.
func (m *Manager) withLock(ctx context.Context, key string, callback func(context.Context) error, opts []Option) (bool, error) {
	if err := m.check(ctx, key); err != nil {
		return false, err
	}
	if callback == nil {
		return false, &lease.ConfigError{Field: "callback", Reason: "must not be nil"}
	}
	line := lockowner.LineageOf(ctx)
	if h := line.Find(m.node.Origin(), key); h != nil {
		return m.nested(ctx, h, callback)
	}
	set, err := m.settings(opts)
	if err != nil {
		return false, err
	}
	g, err := m.acquire(ctx, key, line, set.Ask)
	if err != nil {
		return false, err
	}
	c := &call{m: m, grant: g, done: make(chan outcome, 1)}
	go c.run(g.hold.Bind(ctx), callback)
	return c.wait(set.await)
}

// nested runs callback inside a hold that its caller has already.
func (m *Manager) nested(ctx context.Context, h *lockowner.Hold, callback func(context.Context) error) (bool, error) {
	if err := h.Ended(time.Now()); err != nil {
		return false, err
	}
	if !m.gate.enter(true) {
		return false, &lease.LockLostError{Key: h.Lease().Key, Err: lease.ErrShutdown}
	}
	defer m.gate.exit()
	err := callback(lockowner.Reenter(ctx, h))
	if ended := h.Ended(time.Now()); ended != nil {
		return true, lostError(h.Lease().Key, ended, err)
	}
	return true, err
}

// lostError adds what callback returned to the reason that a hold ended.
func lostError(key string, ended, callback error) error {
	if e, ok := ended.(*lease.LockLostError); ok {
		ended = e.Err
	}
	return &lease.LockLostError{Key: key, Err: ended, Callback: callback}
}

// outcome is how a callback settled.
type outcome struct {
	err    error
	panic  *lease.PanicError
	goexit bool
}

// call is one running callback and its waiting caller.
type call struct {
	m     *Manager
	grant grant
	done  chan outcome
	apart atomic.Bool // whoever sets it first: the callback settled, or the caller left
}

// run is the callback's goroutine.
func (c *call) run(ctx context.Context, callback func(context.Context) error) {
	out := outcome{goexit: true}
	defer func() {
		if out.goexit {
			if r := recover(); r != nil {
				out = outcome{panic: &lease.PanicError{Value: r, Stack: debug.Stack()}}
			}
		}
		c.settled(out)
	}()
	out.err = callback(ctx)
	out.goexit = false
}

func (c *call) settled(out outcome) {
	defer c.m.gate.exit()
	if c.apart.CompareAndSwap(false, true) {
		c.done <- out
		return
	}
	if out.panic != nil {
		c.m.cfg.Logger.Error("actorlock: panic in a callback whose lock was lost",
			"key", c.grant.key, "panic", out.panic.Value, "stack", string(out.panic.Stack))
	}
	c.m.node.Discard(c.grant.hold)
}

// wait is the caller's side: until the callback has settled, or the lock is lost.
func (c *call) wait(await bool) (bool, error) {
	select {
	case out := <-c.done:
		return true, c.finish(out, c.grant.release())
	case ended := <-c.grant.ended():
		lost := c.grant.lost(ended)
		if !await && c.apart.CompareAndSwap(false, true) {
			return false, lost
		}
		out := <-c.done
		c.m.node.Discard(c.grant.hold)
		return true, c.finish(out, lost)
	}
}

// finish is what the caller gets of a callback that has settled and of the loss,
// if there was one.
func (c *call) finish(out outcome, lost error) error {
	switch {
	case out.panic != nil:
		panic(out.panic)
	case out.goexit:
		runtime.Goexit()
	case lost != nil:
		return lostError(c.grant.key, lost, out.err)
	}
	return out.err
}
