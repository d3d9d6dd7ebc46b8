package lockowner

import (
	"context"
	"time"
)

// Lineage is the chain of holds that a context descends from, innermost first.
// Nil is an empty one, and so is the zero value.
type Lineage struct {
	hold  *Hold
	outer *Lineage
}

type lineageKey struct{}

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
		if h != nil && h.call.Key == key && h.tenure.cfg.Origin == origin && !h.released() {
			return h
		}
	}
	return nil
}

// Live says whether the lineage has a hold of origin's manager that lasts.
func (l *Lineage) Live(origin string, now time.Time) bool {
	for ; l != nil; l = l.outer {
		if l.hold != nil && l.hold.tenure.cfg.Origin == origin && l.hold.Ended(now) == nil {
			return true
		}
	}
	return false
}
