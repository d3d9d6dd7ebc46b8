package tree

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/actorlock/actorlock/internal/warm"
)

// Work runs input and output outside Receive and knows when all of it has
// ended. The zero value is not ready: use NewWork. It is safe for concurrent use.
type Work struct {
	log     *slog.Logger
	pool    *warm.Pool
	mu      sync.Mutex
	running int
	idle    chan struct{} // closed while nothing runs and somebody waits
}

// NewWork makes an empty Work that runs in pool and logs panics to log.
func NewWork(log *slog.Logger, pool *warm.Pool) *Work { return &Work{log: log, pool: pool} }

// Go runs do in a goroutine. When do panics, failed is called with the panic
// as an error: a store is code of others, and its panic is one command's error.
func (w *Work) Go(do func(), failed func(error)) {
	w.begin()
	w.pool.Go(func() {
		defer w.done()
		w.guard(do, failed)
	})
}

// Lend is like Go, but returns the function for somebody else to run, once.
func (w *Work) Lend(do func(), failed func(error)) func() {
	w.begin()
	return func() {
		defer w.done()
		w.guard(do, failed)
	}
}

func (w *Work) begin() {
	w.mu.Lock()
	w.running++
	w.mu.Unlock()
}

// guard runs do, with a panic turned into an error.
func (w *Work) guard(do func(), failed func(error)) {
	defer func() {
		if r := recover(); r != nil {
			w.log.Error("actorlock: panic in a store", "panic", r, "stack", string(debug.Stack()))
			failed(fmt.Errorf("panic in the store: %v", r))
		}
	}()
	do()
}

func (w *Work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	if w.running == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// Wait returns when nothing runs any more, or with ctx's error.
func (w *Work) Wait(ctx context.Context) error {
	w.mu.Lock()
	if w.running == 0 {
		w.mu.Unlock()
		return nil
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
