package tree

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/actorlock/actorlock/internal/warm"
)

// Work runs input and output outside Receive and knows when all of it has
// ended. The zero value is not ready: use NewWork. It is safe for concurrent use.
type Work struct {
	log     *slog.Logger
	pool    *warm.Pool
	running atomic.Int64
	mu      sync.Mutex    // guards idle; taken when nothing runs any more
	idle    chan struct{} // closed when nothing runs; made by who waits for that
}

// NewWork makes an empty Work that runs in pool and logs panics to log.
func NewWork(log *slog.Logger, pool *warm.Pool) *Work { return &Work{log: log, pool: pool} }

// Task is a piece of work. When Do panics, Failed is called with the panic as an
// error: a store is code of others, and its panic is one command's error.
type Task interface {
	Do()
	Failed(err error)
}

// Job is a task on its way, for a task to embed.
type Job struct {
	work *Work
	task Task
}

// Task is what the job is about.
func (j *Job) Task() Task { return j.task }

// Start runs t, with j as its job, in the goroutine of h if that is on offer and
// in one of the pool otherwise.
func (w *Work) Start(t Task, j *Job, h *Host) {
	*j = Job{work: w, task: t}
	w.running.Add(1)
	if !h.give(j) {
		w.pool.Go(j)
	}
}

// Run implements warm.Runner.
func (j *Job) Run() {
	defer j.work.done()
	defer Caught(j.work.log, j.task.Failed)
	j.task.Do()
}

// Caught is deferred around the calls of a store: that is code of others, and
// its panic is one command's error, which failed is told.
func Caught(log *slog.Logger, failed func(error)) {
	if r := recover(); r != nil {
		log.Error("actorlock: panic in a store", "panic", r, "stack", string(debug.Stack()))
		failed(fmt.Errorf("panic in the store: %v", r))
	}
}

// Go runs do in a goroutine, like a Task.
func (w *Work) Go(do func(), failed func(error)) {
	f := &funcs{do: do, failed: failed}
	w.Start(f, &f.Job, nil)
}

type funcs struct {
	Job
	do     func()
	failed func(error)
}

func (f *funcs) Do()              { f.do() }
func (f *funcs) Failed(err error) { f.failed(err) }

func (w *Work) done() {
	if w.running.Add(-1) > 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle != nil && w.running.Load() == 0 {
		close(w.idle)
		w.idle = nil
	}
}

// Wait returns when nothing runs any more, or with ctx's error.
func (w *Work) Wait(ctx context.Context) error {
	w.mu.Lock()
	if w.running.Load() == 0 {
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
