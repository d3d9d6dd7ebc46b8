package actorlock

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
)

// call is one WithLock. Its caller waits for answers, and for ctx; a goroutine
// of its own, the worker, runs the callback and what the lock owner lends it
// for, so that the caller can return when the lock is lost or ctx ends whatever
// the callback and the store do. With AwaitCallback the caller does both.
type call struct {
	m        *Manager
	ctx      context.Context
	callback func(context.Context) error
	nested   bool
	acquire  lockowner.Acquire
	hold     *lockowner.Hold
	rest     func() // what the goroutine of the callback does besides
	state    atomic.Int32
	out      outcome // of the callback, once it has settled
}

// The states of a call. Caller and worker move it with compare-and-swap.
const (
	pending   = iota
	running   // the callback
	settled   // the callback has
	abandoned // the caller has left
)

// outcome is how a callback settled.
type outcome struct {
	err    error
	panic  *lease.PanicError
	goexit bool
}

// late: worker -> caller. The lock came when it could not be used any more.
type late struct{ shutdown bool }

// work is the worker: it does what comes until the caller says that all is over.
func (c *call) work() {
	for c.do(<-c.acquire.Lend) {
	}
}

// do reports whether to go on.
func (c *call) do(msg any) bool {
	switch m := msg.(type) {
	case *lockowner.Errand:
		if h := m.Do(); h != nil {
			c.hold = h
			c.run()
		}
	case *lockowner.Granted:
		c.hold = m.Hold
		c.run()
	}
	return msg != nil
}

// run runs the callback, and begins the release.
func (c *call) run() {
	if l := c.start(); l != nil {
		c.m.node.Release(c.hold, false)
		c.acquire.Reply <- l
		return
	}
	ctx := c.hold.Bind(c.ctx)
	c.out.goexit = true
	defer func() {
		if c.out.goexit {
			if r := recover(); r != nil {
				c.out = outcome{panic: &lease.PanicError{Value: r, Stack: debug.Stack()}}
			}
		}
		c.settle()
		if c.out.goexit {
			c.rest() // this goroutine ends when we return
		}
	}()
	c.out.err = c.callback(ctx)
	c.out.goexit = false
}

// start decides whether the callback may start.
func (c *call) start() *late {
	switch {
	case c.ctx.Err() != nil:
		return &late{}
	case !c.m.gate.enter(c.nested):
		return &late{shutdown: true}
	case !c.state.CompareAndSwap(pending, running): // lost before it began
		c.m.gate.exit()
		return &late{}
	}
	return nil
}

// settle is the end of the callback.
func (c *call) settle() {
	c.m.gate.exit()
	if c.state.CompareAndSwap(running, settled) {
		c.m.node.Release(c.hold, true)
		return
	}
	if p := c.out.panic; p != nil {
		c.m.cfg.Logger.Error("actorlock: panic in a callback whose lock was lost",
			"key", c.acquire.Key, "panic", p.Value, "stack", string(p.Stack))
	}
	c.m.node.Discard(c.hold)
}

// wait is the caller.
func (c *call) wait() (bool, error) {
	c.rest = c.work
	c.m.pool.Go(c.work)
	ans := c.listen(nil)
	c.acquire.Lend <- nil
	return c.answered(ans)
}

// inPlace is caller and worker in one.
func (c *call) inPlace() (bool, error) {
	c.rest = func() {
		if ans, ok := c.listen(c.acquire.Lend).(*lockowner.Lost); ok {
			c.discard(ans.Err)
		}
	}
	return c.answered(c.listen(c.acquire.Lend))
}

// listen waits for the last answer, nil when the tree stops without one, and
// does what comes from lend.
func (c *call) listen(lend chan any) any {
	ended := c.ctx.Done()
	for {
		select {
		case msg := <-lend:
			c.do(msg)
		case ans := <-c.acquire.Reply:
			if _, ok := ans.(*lockowner.Granted); !ok {
				return ans
			}
			c.do(ans)
		case <-ended:
			ended = nil
			if c.state.Load() == pending {
				c.m.node.Send(&lockowner.Cancel{Acquire: &c.acquire})
			}
		case <-c.m.node.Done():
			return c.m.lastWord(c.acquire.Reply)
		}
	}
}

// answered turns the last answer into what the caller gets.
func (c *call) answered(ans any) (bool, error) {
	m, key := c.m, c.acquire.Key
	switch ans := ans.(type) {
	case *lockowner.Refused:
		return false, m.refused(c.ctx, key, ans)
	case *late:
		if ans.shutdown {
			return false, m.park(c.ctx, key)
		}
		return false, &lease.AcquireError{Key: key, Attempts: 1, Err: ended(c.ctx, nil)}
	case *lockowner.Released:
		return true, c.finish(nil)
	case *lockowner.Lost:
		return c.lost(ans.Err)
	default: // the tree has stopped
		return c.lost(&lease.LockLostError{Key: key, Err: lease.ErrShutdown})
	}
}

// lost is what the caller gets when the hold ended before its release.
func (c *call) lost(e *lease.LockLostError) (bool, error) {
	switch {
	case c.state.CompareAndSwap(pending, abandoned):
		if e.Err == lease.ErrShutdown {
			return false, c.m.park(c.ctx, c.acquire.Key)
		}
		return false, &lease.AcquireError{Key: c.acquire.Key, Attempts: 1, Err: e.Err}
	case c.state.CompareAndSwap(running, abandoned):
		return false, e
	}
	c.discard(e)
	return true, c.finish(e)
}

// discard deletes what a lost lease has left, now that the callback has settled.
func (c *call) discard(e *lease.LockLostError) {
	if !lease.IsLoss(e.Err) {
		c.m.node.Discard(c.hold)
	}
}

// finish is what the caller gets of a callback that has settled and of the loss,
// if there was one.
func (c *call) finish(lost error) error {
	switch {
	case c.out.panic != nil:
		panic(c.out.panic)
	case c.out.goexit:
		runtime.Goexit()
	case lost != nil:
		return lostError(c.acquire.Key, lost, c.out.err)
	}
	return c.out.err
}
