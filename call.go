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

// call is one WithLock. Its caller waits for answers, and for ctx, while a
// goroutine of the call's own gets the lock, runs the callback and releases: so
// the caller can return when the lock is lost, whatever the callback does. With
// AwaitCallback the caller runs it.
type call struct {
	m        *Manager
	ctx      context.Context
	callback func(context.Context) error
	inPlace  bool
	state    atomic.Int32
	acquire  lockowner.Acquire
	hold     *lockowner.Hold
	bound    context.Context // the callback's; set ahead in a crowd
	out      outcome         // of the callback, once it has settled
}

// The states of a call. The caller and its callback's goroutine move it with
// compare-and-swap.
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

// late: callback's goroutine -> caller. The lock came when it could not be used
// any more, for the reason given, nil when that is the caller's context.
type late struct{ reason error }

// prepare makes the call's question, if it may be asked. It is apart from its
// caller to keep the stack of those who wait small.
//
//go:noinline
func (c *call) prepare(opts []Option) error {
	a := &c.acquire
	set, err := c.m.settings(opts)
	if err != nil {
		return err
	}
	if err := c.m.admit(c.ctx, a.Key, a.Lineage); err != nil {
		return err
	}
	c.inPlace = set.await
	a.Ask, a.Reply, a.Grantee = set.Ask, make(chan any, 2), c
	return nil
}

// Run implements warm.Runner: it asks for the lock, and goes on to the callback
// when it gets that at once.
func (c *call) Run() {
	c.acquire.Lend()
	c.m.node.Send(&c.acquire)
	if h := c.acquire.Serve(); h != nil {
		c.hold = h
		c.proceed()
	}
}

// Granted implements lockowner.Grantee. It may be the owner that calls, who must not run
// the caller's own code: proceed may, so it goes elsewhere.
func (c *call) Granted(h *lockowner.Hold) {
	c.hold = h
	if c.inPlace && !c.m.gate.crowded() {
		c.acquire.Reply <- h
		return
	}
	c.m.pool.Go((*granted)(c))
}

// granted is a call that waits for nothing but a goroutine.
type granted call

// Run implements warm.Runner.
func (c *granted) Run() { (*call)(c).proceed() }

// proceed has the callback run. When many are running, this one may last too: it
// shall not do so on a stack that has grown. So its context is made here, on a stack
// that commands have grown already, and the callback runs on another.
func (c *call) proceed() {
	crowded := c.m.gate.crowded()
	if crowded {
		c.bound = c.hold.Bind(c.ctx)
		c.bound.Done()
	}
	switch {
	case c.inPlace:
		c.acquire.Reply <- c.hold
	case crowded:
		go c.body()
	default:
		c.body()
	}
}

// body runs the callback, and releases.
func (c *call) body() {
	if l := c.start(); l != nil {
		// First: the caller would take the answer to the release for its callback's end.
		select {
		case c.acquire.Reply <- l:
		default: // the caller has its answer already
		}
		c.m.node.Release(c.hold)
		return
	}
	c.out.goexit = true
	defer c.returned()
	if c.bound == nil {
		c.bound = c.hold.Bind(c.ctx)
	}
	c.out.err = c.callback(c.bound)
	c.out.goexit = false
}

// returned is deferred by body, since the callback may not return.
func (c *call) returned() {
	if c.out.goexit {
		if r := recover(); r != nil {
			c.out = outcome{panic: &lease.PanicError{Value: r, Stack: debug.Stack()}}
		}
	}
	c.settle()
	if c.out.goexit && c.inPlace {
		// The caller's goroutine ends when we return.
		if ans, ok := c.listen().(*lockowner.Lost); ok {
			c.discard(ans.Err)
		}
	}
}

// start decides whether the callback may start.
func (c *call) start() *late {
	if !c.m.enter(c.acquire.Lineage) {
		return &late{reason: lease.ErrShutdown}
	}
	var l *late
	if lost, ok := c.hold.Ended(time.Now()).(*lease.LockLostError); ok {
		l = &late{reason: lost.Err}
	} else if c.ctx.Err() != nil || !c.state.CompareAndSwap(pending, running) { // lost before it began
		l = &late{}
	}
	if l != nil {
		c.m.gate.exit()
	}
	return l
}

// settle is the end of the callback.
func (c *call) settle() {
	if c.state.CompareAndSwap(running, settled) {
		if !c.inPlace { // whose caller does not wait for a hung client
			c.hold.Lend()
		}
		c.m.node.Release(c.hold)
		// A Shutdown that comes after a Drain must find the release on its way.
		c.m.gate.exit()
		c.hold.Serve()
		return
	}
	defer c.m.gate.exit()
	if p := c.out.panic; p != nil {
		c.m.cfg.Logger.Error("actorlock: panic in a callback whose lock was lost",
			"key", c.acquire.Key, "panic", p.Value, "stack", string(p.Stack))
	}
	c.m.node.Discard(c.hold)
}

// await waits for the last answer, nil when the tree stops without one. It runs
// the callback when that is to be done in place.
func (c *call) await() any {
	ans := c.listen()
	if _, ok := ans.(*lockowner.Hold); ok {
		c.body()
		ans = c.listen()
	}
	return ans
}

// listen waits for an answer, nil when the tree stops without one. It is apart
// from await to keep the stack small that a callback in place begins with.
//
//go:noinline
func (c *call) listen() any {
	ended := c.ctx.Done()
	for {
		select {
		case ans := <-c.acquire.Reply:
			return ans
		case <-ended:
			ended = nil
			if c.state.Load() == pending {
				c.m.node.Send(c.acquire.Cancel())
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
		switch ans.reason {
		case nil:
			return false, c.acquire.Unused(ended(c.ctx, nil))
		case lease.ErrShutdown:
			return false, m.park(c.ctx, key)
		}
		return false, c.acquire.Unused(ans.reason)
	case *lockowner.Released:
		if ans.Passed {
			runtime.Gosched() // others who have been served ask again before this one does: shares stay even
		}
		return true, c.finish(nil)
	case *lockowner.Lost:
		return c.lost(ans.Hold, ans.Err)
	default: // the tree has stopped
		return c.lost(nil, &lease.LockLostError{Key: key, Err: lease.ErrShutdown})
	}
}

// lost is what the caller gets when the hold ended before its release.
func (c *call) lost(h *lockowner.Hold, e *lease.LockLostError) (bool, error) {
	switch {
	case c.state.CompareAndSwap(pending, abandoned):
		if e.Err == lease.ErrShutdown {
			return false, c.m.park(c.ctx, c.acquire.Key)
		}
		if h != nil && !lease.IsLoss(e.Err) {
			c.m.node.Discard(h) // no callback will
		}
		return false, c.acquire.Unused(e.Err)
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
