package actorlock

import (
	"context"
)

// Drain has the manager start no more callbacks, except those whose context
// descends from a live lease of its own, and waits until the running callbacks
// (and locks from Acquire) have ended, or returns ctx's error. From its first
// moment other calls behave as after Shutdown. Call Shutdown next.
// A callback that calls it waits for itself.
func (m *Manager) Drain(ctx context.Context) error {
	if m == nil || m.node == nil {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	m.gate.raise(draining)
	m.node.Drain()
	return m.gate.wait(ctx)
}

// Shutdown ends the manager. From its first moment no callback starts. Running
// callbacks have their context cancelled, with ErrShutdown within the
// *LockLostError that their calls return; their locks are released at once,
// without waiting for them. It returns when everything is released and every
// actor has stopped, or when ctx ends: then with a *ShutdownError that names the
// keys left to expire with their TTL, all of them if ctx has ended before. A store
// passed in stays open.
//
// It may be called at any time, also from a callback. Another call waits for
// the first one's result.
//
// A WithLock call that waits, or comes later, never runs its callback and does
// not return before its own ctx ends, then with an error that is both the
// ctx's and ErrShutdown; with a ctx that never ends it never returns, and a
// program in which nothing else runs any more is ended by the Go runtime. So
// cancel the ctx of your workers when you shut down, or set
// Config.FailAfterShutdown.
func (m *Manager) Shutdown(ctx context.Context) error {
	if m == nil || m.node == nil {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	m.gate.raise(closed)
	first := false
	m.closeOnce.Do(func() {
		first = true
		m.node.Close()
	})
	select {
	case <-m.node.Done():
	case <-ctx.Done():
		if !first {
			return context.Cause(ctx)
		}
		m.node.Abort(ended(ctx, nil))
		<-m.node.Done()
	}
	// Commands whose outcome no longer matters may still be on their way.
	_ = m.node.Settle(ctx)
	m.pool.Close()
	return m.node.Left()
}
