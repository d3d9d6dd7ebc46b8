package actorlock

import (
	"context"
	"sync"
)

type gateState int

const (
	open gateState = iota
	draining
	closed
)

// gate decides whether a callback may start and knows how many are running. To
// start and to close exclude each other, so that no callback starts after the
// first moment of a Shutdown.
type gate struct {
	mu      sync.Mutex
	is      gateState
	running int
	empty   chan struct{} // closed when nothing runs any more; made by wait
}

func (g *gate) state() gateState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.is
}

// enter counts a callback in. nested: it runs on behalf of a live lease.
func (g *gate) enter(nested bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.is == closed || (g.is == draining && !nested) {
		return false
	}
	g.running++
	return true
}

// exit counts a callback out.
func (g *gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.running == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// crowd is how many callbacks run on stacks that may have grown.
const crowd = 64

// crowded says whether many callbacks are running.
func (g *gate) crowded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running >= crowd
}

// raise moves the gate towards closed, never back.
func (g *gate) raise(to gateState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.is = max(g.is, to)
}

// wait returns when no callback is running, or with ctx's cause.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.running == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
