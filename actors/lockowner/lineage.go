package lockowner

import (
	"context"
	"time"
)

// Lineage is the chain of holds that a context descends from, innermost first.
// A nil Lineage is an empty one.
type Lineage struct {
	hold  *Hold
	outer *Lineage
}

// holdContext carries a lineage. Its Err looks at the deadline, so that the
// first look after the process was stopped sees the loss.
type holdContext struct {
	context.Context
	line Lineage
}

type lineageKey struct{}

// Value implements context.Context.
func (c *holdContext) Value(key any) any {
	if key == (lineageKey{}) {
		return &c.line
	}
	return c.Context.Value(key)
}

// Err implements context.Context.
func (c *holdContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	c.line.hold.Ended(time.Now())
	return c.Context.Err()
}

// LineageOf is the lineage that ctx descends from.
func LineageOf(ctx context.Context) *Lineage {
	l, _ := ctx.Value(lineageKey{}).(*Lineage)
	return l
}

// Hold is the innermost hold, nil for an empty lineage.
func (l *Lineage) Hold() *Hold {
	if l == nil {
		return nil
	}
	return l.hold
}

// Find is the hold of key in the lineage that origin's manager granted and that
// was not released, or nil. It may be lost.
func (l *Lineage) Find(origin, key string) *Hold {
	for ; l != nil; l = l.outer {
		h := l.hold
		if h.key == key && h.cfg.Origin == origin && !h.released() {
			return h
		}
	}
	return nil
}

// Live says whether the lineage has a hold of origin's manager that lasts.
func (l *Lineage) Live(origin string, now time.Time) bool {
	for ; l != nil; l = l.outer {
		if l.hold.cfg.Origin == origin && l.hold.Ended(now) == nil {
			return true
		}
	}
	return false
}

// Reenter makes the context of a nested call: ctx with h as the innermost hold.
func Reenter(ctx context.Context, h *Hold) context.Context {
	return &holdContext{Context: ctx, line: Lineage{hold: h, outer: LineageOf(ctx)}}
}
