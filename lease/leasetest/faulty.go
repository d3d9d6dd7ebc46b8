package leasetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/actorlock/actorlock/lease"
)

// Op names a command of the Store port.
type Op string

// The commands that a Faulty store can let fail.
const (
	OpAcquire   Op = "acquire"
	OpExtend    Op = "extend"
	OpRelease   Op = "release"
	OpReserve   Op = "reserve"
	OpContended Op = "contended"
	OpInspect   Op = "inspect"
	OpWatch     Op = "watch"
)

// Fault is what happens to one command. Its zero value lets the command pass.
// Err, Hang and Panic exclude each other; Hang comes before Panic, and Panic
// before Err. With none of them the command has its real outcome, after the
// delays.
type Fault struct {
	// Before delays the command before it is executed. When ctx ends meanwhile
	// the command is not executed and fails with ctx's error (NotExecuted).
	Before time.Duration
	// After delays the reply of a command that was executed. When ctx ends
	// meanwhile the reply is lost: ctx's error (Unknown).
	After time.Duration

	// Err makes the command fail with a *lease.StoreError around it.
	Err error
	// Kind is what that error says of a command that was not executed.
	Kind lease.Kind
	// Hang lets no reply come: the command fails with ctx's error (Unknown)
	// when ctx ends. With a context that never ends it never returns, unless
	// there is a Limit.
	Hang bool
	// Limit, if above 0, ends a Hang after that long, as the time-outs of a
	// store's own client do: os.ErrDeadlineExceeded (Unknown).
	Limit time.Duration
	// Panic, if not nil, is raised in the caller's goroutine, like a panic of a
	// hook in the client that a store uses.
	Panic any

	// Executed says that the command is executed nevertheless: with Err and
	// Panic before the failure (the reply was lost: Kind is Unknown then), with
	// Hang after the caller was told and then After passed (a stray command
	// arrives late).
	Executed bool
}

func (f Fault) none() bool {
	return f.Before <= 0 && f.After <= 0 && f.Err == nil && !f.Hang && f.Panic == nil
}

// Hook decides what happens to a command on key. It may block and is called
// from any goroutine, for a batch once per lease in it and in its order.
type Hook func(ctx context.Context, key string) Fault

// Always returns a hook that meets every command with f.
func Always(f Fault) Hook { return func(context.Context, string) Fault { return f } }

// Times returns a hook that meets the first n commands with f and lets the
// later ones pass.
func Times(n int, f Fault) Hook {
	var mu sync.Mutex
	return func(context.Context, string) Fault {
		mu.Lock()
		defer mu.Unlock()
		if n <= 0 {
			return Fault{}
		}
		n--
		return f
	}
}

// Faulty is a lease.Store that passes commands on to another and lets them
// fail as a test wants. It shows how a program behaves when its lock is lost:
//
//	store := leasetest.NewFaulty(memstore.New())
//	// … start the work under a lock of a manager on store, then:
//	store.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Err: io.EOF}))
//	// The next renewal fails, and the callback's context ends.
//
// Hang instead of Err shows a server that is cut off: the lock is lost when its
// deadline passes. What happens in the store itself, such as a key that is
// deleted or overwritten, is the inner store's doing: memstore has Delete and
// Steal for that. Faulty is safe for concurrent use and runs under
// testing/synctest, with a Manager on it too.
type Faulty struct {
	inner lease.Store
	late  sync.WaitGroup

	mu    sync.Mutex
	hooks map[Op]Hook
	calls map[Op]int
}

var _ lease.Store = (*Faulty)(nil)

// NewFaulty wraps inner. Without hooks every command passes.
func NewFaulty(inner lease.Store) *Faulty {
	return &Faulty{inner: inner, hooks: map[Op]Hook{}, calls: map[Op]int{}}
}

// On sets the hook of op from the next command on, in place of an earlier one;
// nil lets all commands pass again. Commands that already wait or hang stay as
// they are.
func (f *Faulty) On(op Op, hook Hook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks[op] = hook
}

// Calls is how often op was called so far, failed calls included; a batch
// counts as one.
func (f *Faulty) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// Wait returns when all commands that are executed late (Fault.Hang with
// Executed) are done. Call it when no command is under way any more.
func (f *Faulty) Wait() { f.late.Wait() }

// call counts a call of op and returns its hook, which is never nil.
func (f *Faulty) call(op Op) Hook {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	if hook := f.hooks[op]; hook != nil {
		return hook
	}
	return Always(Fault{})
}

// do carries out one command under a fault.
func do[T any](ctx context.Context, f *Faulty, op Op, fault Fault, run func(context.Context) (T, error)) (T, error) {
	var zero T
	if !pause(ctx, fault.Before) {
		return zero, ended(ctx, op, lease.NotExecuted)
	}
	switch {
	case fault.Hang:
		limited := hang(ctx, fault.Limit)
		if fault.Executed {
			f.late.Go(func() {
				free := context.WithoutCancel(ctx)
				pause(free, fault.After)
				_, _ = run(free) // nobody asks
			})
		}
		if limited {
			return zero, &lease.StoreError{Op: string(op), Kind: lease.Unknown, Err: os.ErrDeadlineExceeded}
		}
		return zero, ended(ctx, op, lease.Unknown)
	case fault.Executed:
	case fault.Panic != nil:
		panic(fault.Panic)
	case fault.Err != nil:
		return zero, &lease.StoreError{Op: string(op), Kind: fault.Kind, Err: fault.Err}
	}

	v, err := run(ctx)
	if !pause(ctx, fault.After) {
		return zero, ended(ctx, op, lease.Unknown)
	}
	switch {
	case fault.Panic != nil:
		panic(fault.Panic)
	case fault.Err != nil:
		return zero, &lease.StoreError{Op: string(op), Kind: lease.Unknown, Err: fault.Err}
	}
	return v, err
}

// pause waits for d, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hang waits for ctx to end, or for a limit above 0, and reports whether that
// came first.
func hang(ctx context.Context, limit time.Duration) (limited bool) {
	if limit > 0 {
		return pause(ctx, limit)
	}
	<-ctx.Done()
	return false
}

func ended(ctx context.Context, op Op, kind lease.Kind) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &lease.StoreError{Op: string(op), Kind: kind, Err: err}
}
