package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorlock/actorlock"
)

// call is one call that a caller makes, and what became of it. All but the
// first lines is written under the world's mutex.
type call struct {
	*step
	w      *world
	node   *node
	ctx    context.Context
	outer  *call // within whose callback it is made
	inside *call // the call whose lock it shares: it is a re-entry

	former *call // one of the key that has returned already

	begun     time.Time
	ctxEnded  time.Time
	started   time.Time // the callback, or Acquire has returned
	returned  time.Time // the callback, or Release was called
	settled   time.Time
	lost      time.Time // the context of the hold has ended by a loss
	overtaken time.Time
	overtaker *call
	hold      *hold
}

func (c *call) String() string { return fmt.Sprintf("call %d (%s, %s)", c.id, c.node, c.keyName()) }

func (c *call) keyName() string { return c.w.plan.keys[c.key] }

var errCallback = errors.New("the callback's own")

// call makes the call of a step on the node that is at place now.
func (w *world) call(s *step, place int) {
	time.Sleep(s.pause)
	w.mu.Lock()
	n := w.slots[place]
	w.mu.Unlock()
	c := &call{step: s, w: w, node: n}
	c.run(w.ctx, nil)
}

// run makes the call with a ctx that descends from parent. ready, if not nil, is
// called when the callback has started or the call has settled.
func (c *call) run(parent context.Context, ready func()) {
	w := c.w
	ctx, cancel := parent, context.CancelFunc(func() {})
	if c.giveUp > 0 {
		ctx, cancel = context.WithTimeout(parent, c.giveUp)
	}
	defer cancel()
	c.ctx = ctx
	stop := context.AfterFunc(ctx, func() { w.locked(func() { c.ctxEnded = time.Now() }) })
	defer stop()
	w.locked(c.begin)
	body := c.callback
	if ready != nil {
		defer ready()
		body = func(ctx context.Context) error { ready(); return c.callback(ctx) }
	}
	switch c.form {
	case look:
		c.inspect(ctx)
	case manual:
		c.manual(ctx, ready)
	default:
		// A goroutine of its own: the callback may end it.
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.withLock(ctx, body)
		}()
		<-done
	}
}

func (c *call) withLock(ctx context.Context, body func(context.Context) error) {
	w := c.w
	var err error
	value := 0
	exited := true
	defer func() {
		if r := recover(); r != nil {
			w.locked(func() { c.settlePanic(r) })
		} else if exited {
			w.locked(c.settleExit)
		}
	}()
	if c.form == generic {
		value, err = actorlock.WithLock(ctx, c.node.m, c.keyName(), func(ctx context.Context) (int, error) {
			return c.id, body(ctx)
		}, c.options()...)
	} else {
		err = c.node.m.WithLock(ctx, c.keyName(), body, c.options()...)
	}
	exited = false
	if _, lost := errors.AsType[*actorlock.LockLostError](err); lost {
		time.Sleep(1) // it may be told in the instant before the callback's first line
	}
	w.locked(func() {
		if want := c.id; c.form == generic && err == nil && value != want {
			w.violated("%s returned %d, want %d", c, value, want)
		}
		c.settle(err)
	})
}

// callback is what runs under the lock.
func (c *call) callback(ctx context.Context) error {
	w := c.w
	w.aside.Add(1)
	defer w.aside.Done()
	w.locked(func() { c.start(ctx, leaseOf(ctx)) })
	defer w.locked(c.end)
	c.work(ctx)
	switch c.ending {
	case fails:
		return errCallback
	case panics:
		panic(errCallback)
	case exits:
		// Not runtime.Goexit here: deferred calls of this package come first.
		exit()
	}
	return nil
}

// work is the time under the lock, and the calls within it.
func (c *call) work(ctx context.Context) {
	c.rest(ctx, c.step.hold/2)
	for i := range c.inner {
		in := &call{step: &c.inner[i], w: c.w, node: c.node, outer: c}
		if !in.aside {
			time.Sleep(in.pause)
			in.run(ctx, nil)
			continue
		}
		ready := make(chan struct{}, 2)
		c.w.aside.Go(func() {
			in.run(ctx, func() {
				select {
				case ready <- struct{}{}:
				default:
				}
			})
		})
		<-ready
	}
	c.rest(ctx, c.step.hold/2)
}

func (c *call) rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	var done <-chan struct{}
	if c.obeys {
		done = ctx.Done()
	}
	select {
	case <-timer.C:
	case <-done:
	}
}

// manual is the call in the form of Acquire and Release.
func (c *call) manual(ctx context.Context, ready func()) {
	w := c.w
	lock, err := c.node.m.Acquire(ctx, c.keyName(), c.options()...)
	if err != nil {
		w.locked(func() { c.settle(err) })
		return
	}
	w.locked(func() { c.start(lock.Context(), lock.Lease) })
	if ready != nil {
		ready()
	}
	c.work(lock.Context())
	w.locked(c.end)
	err = lock.Release(ctx)
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil && errors.Is(err, context.Cause(ctx)) {
		err = lock.Release(context.Background()) // nil, or the loss
	}
	w.locked(func() { c.settle(err) })
	if again := lock.Release(context.Background()); !errors.Is(again, err) && err == nil {
		w.locked(func() { w.violated("%s: a repeated Release returned %v", c, again) })
	}
}

// inspect looks at the key.
func (c *call) inspect(ctx context.Context) {
	info, err := c.node.m.Inspect(ctx, c.keyName())
	w := c.w
	w.locked(func() {
		w.count.looks++
		switch {
		case err != nil && !c.node.closing.IsZero(), err != nil && ctx.Err() != nil, err != nil && c.node.wasDisturbed(c.keyName()):
		case err != nil:
			w.violated("%s: Inspect returned %v", c, err)
		case info.Held && info.Holder == "", info.Waiters < 0:
			w.violated("%s: Inspect saw %+v", c, info)
		}
		c.leave()
	})
}
