package actorlock

import (
	"context"
	"errors"
	"time"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
)

// admit turns calls away that no lock can be asked for.
func (m *Manager) admit(ctx context.Context, key string, line *lockowner.Lineage) error {
	if s := m.gate.state(); s == closed || (s == draining && !m.live(line)) {
		return m.park(ctx, key)
	}
	if ctx.Err() != nil {
		return &lease.AcquireError{Key: key, Err: ended(ctx, nil)}
	}
	return nil
}

// live says whether a call is made on behalf of a lease that we hold.
func (m *Manager) live(line *lockowner.Lineage) bool {
	return line != nil && line.Live(m.node.Origin(), time.Now())
}

// enter counts a callback in, if it may start. The lease on whose behalf it is
// called may have ended during the wait.
func (m *Manager) enter(line *lockowner.Lineage) bool { return m.gate.enter(m.live(line)) }

// take gets the lock for a caller who runs no callback. With a nil error one
// has been counted in all the same.
func (m *Manager) take(ctx context.Context, a *lockowner.Acquire) (*lockowner.Hold, error) {
	if err := m.admit(ctx, a.Key, a.Lineage); err != nil {
		return nil, err
	}
	m.node.Send(a)
	switch ans := m.await(ctx, a).(type) {
	case *lockowner.Granted:
		if !m.enter(a.Lineage) {
			m.node.Release(ans.Hold)
			return nil, m.park(ctx, a.Key)
		}
		if ctx.Err() != nil {
			m.gate.exit()
			m.node.Release(ans.Hold)
			return nil, a.Unused(ended(ctx, nil))
		}
		return ans.Hold, nil
	case *lockowner.Refused:
		return nil, m.refused(ctx, a.Key, ans)
	default: // the tree has stopped
		return nil, m.park(ctx, a.Key)
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
		m.node.Send(a.Cancel())
		select {
		case ans := <-a.Reply:
			return ans
		case <-m.node.Done():
		}
	}
	return m.lastWord(a.Reply)
}

// lastWord is an answer that came before the tree stopped, or nil.
func (m *Manager) lastWord(reply chan any) any {
	select {
	case ans := <-reply:
		return ans
	default:
		return nil
	}
}

// refused is the error of a call that the owner has refused.
func (m *Manager) refused(ctx context.Context, key string, r *lockowner.Refused) error {
	switch {
	case errors.Is(r.Err, lease.ErrShutdown), m.gate.state() == closed:
		return m.park(ctx, key)
	case ctx.Err() != nil:
		r.Err.Err = ended(ctx, r.Err.Err)
	}
	return r.Err
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
