package actorlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/internal/warm"
	"github.com/actorlock/actorlock/lease"
)

// Lock is a lock that is held until it is released: the manual form of WithLock,
// with the same queue, renewal and shutdown. It is safe for concurrent use.
type Lock struct {
	m     *Manager
	ctx   context.Context
	hold  *lockowner.Hold
	from  chan any // of the owner's answers
	leave func()   // of a shared one, or nil

	once sync.Once
	done chan struct{} // closed when the release has been answered
	err  error         // of the release, after done
}

// Acquire gets the lock key. ctx bounds the wait, not the hold. Options and
// errors are those of WithLock, *AcquireError above all. Inside a callback's or
// another Lock's context it shares the lease that is held already; its Release
// then ends nothing. Whoever gets a Lock must call Release.
func (m *Manager) Acquire(ctx context.Context, key string, opts ...Option) (*Lock, error) {
	if err := m.check(ctx, key); err != nil {
		return nil, err
	}
	line := lockowner.LineageOf(ctx)
	if h, err := m.inside(line, key); err != nil {
		return nil, err
	} else if h != nil {
		return m.share(ctx, h), nil
	}
	set, err := m.settings(opts)
	if err != nil {
		return nil, err
	}
	a := &lockowner.Acquire{Key: key, Ask: set.Ask, Lineage: line, Reply: make(chan any, 2)}
	h, err := m.take(ctx, a)
	if err != nil {
		return nil, err
	}
	return &Lock{m: m, ctx: h.Bind(context.WithoutCancel(ctx)), hold: h, from: a.Reply, done: make(chan struct{})}, nil
}

// share makes a Lock of a hold that the caller's lineage has.
func (m *Manager) share(ctx context.Context, h *lockowner.Hold) *Lock {
	inner, cancel := context.WithCancelCause(&sharedContext{h.Context(), context.WithoutCancel(ctx)})
	return &Lock{
		ctx: lockowner.Reenter(inner, h), hold: h, done: make(chan struct{}),
		leave: func() { cancel(lease.ErrReleased) },
	}
}

// sharedContext ends with the hold and has the values of the caller's context.
type sharedContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context. What the caller's has no value for is asked
// of the hold's, so that the context package finds what to cancel it with.
func (c *sharedContext) Value(key any) any {
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// Context has the values of the ctx that the lock was acquired with, and
// carries the lease. It ends when the lock is lost, at shutdown and after
// Release, with the same causes as a callback's context, but not with that ctx.
func (l *Lock) Context() context.Context { return l.ctx }

// Lease is a snapshot of the lease.
func (l *Lock) Lease() lease.Lease { return l.hold.Lease() }

// Release gives the lock back. A repeated call returns nil. After a loss it
// returns the *LockLostError, every time. It works with a ctx that is done; one
// that ends during the release ends only the wait for it, with ctx's error.
func (l *Lock) Release(ctx context.Context) error {
	l.once.Do(func() {
		if l.leave != nil {
			if err := l.hold.Ended(time.Now()); err != lease.ErrReleased {
				l.err = err
			}
			l.leave()
			close(l.done)
			return
		}
		l.m.pool.Go(warm.Func(l.release))
	})
	var stop <-chan struct{}
	if ctx != nil && ctx.Err() == nil {
		stop = ctx.Done()
	}
	select {
	case <-l.done:
	case <-stop:
		return fmt.Errorf("release lock %q: %w", l.hold.Lease().Key, context.Cause(ctx))
	}
	return l.err
}

func (l *Lock) release() {
	defer close(l.done)
	defer l.m.gate.exit()
	l.m.node.Release(l.hold)
	var ans any
	select {
	case ans = <-l.from:
	case <-l.m.node.Done():
		ans = l.m.lastWord(l.from)
	}
	switch ans := ans.(type) {
	case *lockowner.Released:
		return
	case *lockowner.Lost:
		l.err = ans.Err
	default: // the tree has stopped
		l.err = &lease.LockLostError{Key: l.hold.Lease().Key, Err: lease.ErrShutdown}
	}
	l.m.node.Discard(l.hold)
}
