package lockowner

import (
	"context"
	"strconv"
	"time"
)

// holdContext is the context of a hold: its parent's values and end, cancelled
// when the hold ends, with the lease and the lineage as values. What cancels it
// is made when somebody first looks, since many callbacks never do. It is safe
// for concurrent use.
type holdContext struct {
	line   Lineage
	parent context.Context

	// Guarded by the hold's mu.
	inner  context.Context // nil until somebody looks
	cancel context.CancelCauseFunc
}

// look makes what can be cancelled, with the hold's mu locked.
func (c *holdContext) look() context.Context {
	if c.inner == nil {
		parent, ended := c.parent, c.line.hold.ended.Load()
		if ended != nil {
			parent = context.WithoutCancel(parent) // its end came later, or never
		}
		c.inner, c.cancel = context.WithCancelCause(parent)
		if ended != nil {
			c.cancel(*ended)
		}
	}
	return c.inner
}

// end cancels the context, with the hold's mu locked.
func (c *holdContext) end(cause error) {
	if c.inner != nil { // otherwise whoever looks later sees why the hold ended
		c.cancel(cause)
	}
}

// settle looks before a release, if the parent has ended: that came first then.
// The parent may be the caller's own code, which the owner does not run.
func (c *holdContext) settle() {
	if c.parent.Err() != nil {
		c.ending()
	}
}

// ending is the context without the lineage.
func (c *holdContext) ending() context.Context {
	h := c.line.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	return c.look()
}

// Deadline implements context.Context.
func (c *holdContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *holdContext) Done() <-chan struct{} { return c.ending().Done() }

// Err implements context.Context. It looks at the lease's deadline, so that the
// first look after the process was stopped sees the loss.
func (c *holdContext) Err() error {
	inner := c.ending()
	if err := inner.Err(); err != nil {
		return err
	}
	c.line.hold.Ended(time.Now())
	return inner.Err()
}

// String keeps whoever prints the context from looking into it.
func (c *holdContext) String() string {
	return "lock context of " + strconv.Quote(c.line.hold.call.Key)
}

// Value implements context.Context. The context package asks by a key of its own
// for what can be cancelled, which no other key can be told from.
func (c *holdContext) Value(key any) any {
	if key == (lineageKey{}) {
		return &c.line
	}
	return c.ending().Value(key)
}

// nestedContext carries a lineage whose innermost hold is not the last granted.
type nestedContext struct {
	context.Context
	line Lineage
}

// Reenter makes the context of a nested call: ctx with h as the innermost hold.
func Reenter(ctx context.Context, h *Hold) context.Context {
	return &nestedContext{Context: ctx, line: Lineage{hold: h, outer: LineageOf(ctx)}}
}

// Err implements context.Context, and looks at the deadline of the lease.
func (c *nestedContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	c.line.hold.Ended(time.Now())
	return c.Context.Err()
}

// Value implements context.Context.
func (c *nestedContext) Value(key any) any {
	if key == (lineageKey{}) {
		return &c.line
	}
	return c.Context.Value(key)
}
