package actorlock

import (
	"context"
	"errors"
	"time"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
)

// grant is a lock that was acquired, and may run a callback.
type grant struct {
	m    *Manager
	key  string
	hold *lockowner.Hold
	from chan any // of the owner's answers
}

// acquire gets the lock for a caller whose lineage does not hold it. With a nil
// error a callback has been counted in.
func (m *Manager) acquire(ctx context.Context, key string, line *lockowner.Lineage, ask lockowner.Ask) (grant, error) {
	nested := line.Live(m.node.Origin(), time.Now())
	if s := m.gate.state(); s == closed || (s == draining && !nested) {
		return grant{}, m.park(ctx, key)
	}
	if ctx.Err() != nil {
		return grant{}, &lease.AcquireError{Key: key, Err: ended(ctx, nil)}
	}
	a := &lockowner.Acquire{Key: key, Ask: ask, Lineage: line, Reply: make(chan any, 2)}
	m.node.Send(a)
	switch ans := m.await(ctx, a).(type) {
	case *lockowner.Granted:
		g := grant{m: m, key: key, hold: ans.Hold, from: a.Reply}
		if ctx.Err() != nil {
			m.node.Release(g.hold)
			return grant{}, &lease.AcquireError{Key: key, Attempts: 1, Err: ended(ctx, nil)}
		}
		if !m.gate.enter(nested) {
			m.node.Release(g.hold)
			return grant{}, m.park(ctx, key)
		}
		return g, nil
	case *lockowner.Refused:
		switch {
		case errors.Is(ans.Err, lease.ErrShutdown):
			return grant{}, m.park(ctx, key)
		case ctx.Err() != nil:
			ans.Err.Err = ended(ctx, ans.Err.Err)
		}
		return grant{}, ans.Err
	default: // the tree has stopped
		return grant{}, m.park(ctx, key)
	}
}

// await is the owner's answer to a, nil when the tree stops first. When ctx ends
// the owner is told, and answers at once.
func (m *Manager) await(ctx context.Context, a *lockowner.Acquire) any {
	select {
	case ans := <-a.Reply:
		return ans
	case <-m.node.Done():
	case <-ctx.Done():
		m.node.Send(&lockowner.Cancel{Acquire: a})
		select {
		case ans := <-a.Reply:
			return ans
		case <-m.node.Done():
		}
	}
	select {
	case ans := <-a.Reply:
		return ans
	default:
		return nil
	}
}

// ended is the error of a context that has ended: its error and cause, and
// ErrHeld when the key was last seen held.
func ended(ctx context.Context, last error) error {
	errs := []error{ctx.Err()}
	if cause := context.Cause(ctx); cause != errs[0] {
		errs = append(errs, cause)
	}
	if errors.Is(last, lease.ErrHeld) {
		errs = append(errs, lease.ErrHeld)
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// park is what becomes of a call after shutdown: it ends with its ctx.
func (m *Manager) park(ctx context.Context, key string) error {
	if m.cfg.FailAfterShutdown && ctx.Err() == nil {
		return &lease.AcquireError{Key: key, Err: lease.ErrShutdown}
	}
	<-ctx.Done()
	return &lease.AcquireError{Key: key, Err: errors.Join(lease.ErrShutdown, ended(ctx, nil))}
}

// ended delivers what ends the hold before it is released.
func (g *grant) ended() <-chan any { return g.from }

// lost is the loss in an owner's answer.
func (g *grant) lost(ans any) error {
	if l, ok := ans.(*lockowner.Lost); ok {
		return l.Err
	}
	return nil
}

// release gives the lock back and returns the loss, if there was one.
func (g *grant) release() error {
	g.m.node.Release(g.hold)
	select {
	case ans := <-g.from:
		return g.lost(ans)
	case <-g.m.node.Done():
	}
	select {
	case ans := <-g.from:
		return g.lost(ans)
	default:
		return &lease.LockLostError{Key: g.key, Err: lease.ErrShutdown}
	}
}
