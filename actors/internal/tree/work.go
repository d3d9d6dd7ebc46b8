package tree

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Work runs input and output outside Receive and knows when all of it has
// ended. The zero value is not ready: use NewWork. It is safe for concurrent use.
type Work struct {
	log     *slog.Logger
	mu      sync.Mutex
	running int
	idle    chan struct{} // closed while nothing runs and somebody waits
}

// NewWork makes an empty Work that logs panics to log.
func NewWork(log *slog.Logger) *Work { return &Work{log: log} }

// Go runs do in a goroutine. When do panics, failed is called with the panic
// as an error: a store is code of others, and its panic is one command's error.
func (w *Work) Go(do func(), failed func(error)) {
	w.mu.Lock()
	w.running++
	w.mu.Unlock()
	go func() {
		defer w.done()
		w.Guard(do, failed)
	}()
}

// Guard runs do in the caller's goroutine, with a panic turned into an error.
func (w *Work) Guard(do func(), failed func(error)) {
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
