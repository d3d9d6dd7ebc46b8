package actorlock

import (
	"context"
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
// runtime.Goexit ends the caller, after the lock was released. When the call has
// returned before, with a loss, a panic is logged.
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
	if h, err := m.inside(line, key); err != nil {
		return false, err
	} else if h != nil {
		return m.nested(ctx, h, callback)
	}
	c := &call{m: m, ctx: ctx, callback: callback}
	c.acquire.Key, c.acquire.Lineage = key, line
	if err := c.prepare(opts); err != nil {
		return false, err
	}
	m.pool.Go(c)
	return c.answered(c.await())
}

// inside is the live hold of key in a lineage, nil when it has none, with the
// *LockLostError when that was lost.
func (m *Manager) inside(line *lockowner.Lineage, key string) (*lockowner.Hold, error) {
	h := line.Find(m.node.Origin(), key)
	if h == nil {
		return nil, nil
	}
	switch err := h.Ended(time.Now()); err {
	case nil:
		return h, nil
	case lease.ErrReleased: // since we found it
		return nil, nil
	default:
		return nil, err
	}
}

// nested runs callback inside a hold that its caller has already.
func (m *Manager) nested(ctx context.Context, h *lockowner.Hold, callback func(context.Context) error) (bool, error) {
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
