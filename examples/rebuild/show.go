package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/actorlock/actorlock"
)

// work is how long a rebuild takes.
const work = 300 * time.Millisecond

// show plays the scenes and prints what happens, with the time since its start.
type show struct {
	*cluster
	out   io.Writer
	start time.Time
	mu    sync.Mutex // orders the lines
}

func (s *show) title(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "\n%s\n", text)
}

func (s *show) say(n *node, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	width := len(s.nodes[0].name)
	fmt.Fprintf(s.out, "%7.3f s  %-*s  %s\n", time.Since(s.start).Seconds(), width, n.name, fmt.Sprintf(format, args...))
}

// rush: all nodes want the lock at once, and who is refused asks again.
func (s *show) rush(ctx context.Context) error {
	s.title("Three nodes want " + key + " at once")
	errs := make([]error, len(s.nodes))
	var all sync.WaitGroup
	for i, n := range s.nodes {
		all.Go(func() { errs[i] = s.rebuild(ctx, n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s *show) rebuild(ctx context.Context, n *node) error {
	// One attempt: whoever comes second learns at once that the work is being
	// done already. Many programs would leave it at that.
	err := n.WithLock(ctx, key, func(ctx context.Context) error {
		return s.run(ctx, n, "runs")
	}, actorlock.RetryAttempts(0))
	var refused *actorlock.AcquireError
	if !errors.As(err, &refused) || !errors.Is(err, actorlock.ErrHeld) {
		return err
	}
	s.say(n, "is refused: %s has the lock", refused.Holder)

	s.say(n, "asks again, and waits")
	return n.WithLock(ctx, key, func(ctx context.Context) error {
		return s.run(ctx, n, "enters")
	}, actorlock.RetryAttempts(actorlock.RetryForever))
}

// run is the work that only one node may do at a time.
func (s *show) run(ctx context.Context, n *node, verb string) error {
	held, _ := actorlock.LeaseFrom(ctx)
	s.say(n, "%s, with fencing token %d", verb, held.Token)
	if err := pause(ctx, work); err != nil {
		return err
	}
	s.say(n, "is done")
	return nil
}

// nested: a function that takes the lock itself may be called by one that has it.
func (s *show) nested(ctx context.Context) error {
	s.title("A nested call")
	n := s.nodes[0]
	return n.WithLock(ctx, key, func(ctx context.Context) error {
		s.say(n, "holds the lock, and calls a function that locks %s too", key)
		return s.publish(ctx, n)
	}, actorlock.RetryAttempts(actorlock.RetryForever))
}

func (s *show) publish(ctx context.Context, n *node) error {
	began := time.Now()
	return n.WithLock(ctx, key, func(context.Context) error {
		s.say(n, "passes through in %v: ctx says that the lock is its own", time.Since(began))
		return nil
	})
}

// theft: the key is overwritten while a callback runs.
func (s *show) theft(ctx context.Context) error {
	s.title("A lock is taken away")
	n := s.nodes[0]
	// A short TTL, as the holder is told by the next extension, after a third of
	// it. With AwaitCallback the call reports the loss when its callback has
	// returned, as it soon does; the default is not to wait for it.
	err := n.WithLock(ctx, key, func(ctx context.Context) error {
		s.say(n, "holds the lock; an administrator overwrites its key")
		if err := s.steal(ctx, key, "administrator/1", time.Second); err != nil {
			return err
		}
		if err := pause(ctx, limit); err != nil {
			s.say(n, "is told in the callback, by its ctx: %v", err)
		}
		return nil
	}, actorlock.TTL(900*time.Millisecond), actorlock.AwaitCallback(), actorlock.RetryAttempts(actorlock.RetryForever))
	if !errors.Is(err, actorlock.ErrLeaseTaken) {
		return fmt.Errorf("a stolen lock should be reported as taken, not as: %v", err)
	}
	s.say(n, "gets from WithLock: %v", err)
	return nil
}

// shutdown: a node that leaves frees its key at once, long before its TTL.
func (s *show) shutdown(ctx context.Context) error {
	s.title("A holder shuts down")
	leaver, waiter := s.nodes[0], s.nodes[1]
	// Acquire is the manual form, for a lock that outlives the function.
	lock, err := leaver.Acquire(ctx, key, actorlock.RetryAttempts(actorlock.RetryForever))
	if err != nil {
		return err
	}
	s.say(leaver, "holds the lock, with a TTL of 30 s")

	s.say(waiter, "waits")
	var entered time.Time
	done := make(chan error, 1)
	go func() {
		done <- waiter.WithLock(ctx, key, func(context.Context) error {
			entered = time.Now()
			return nil
		}, actorlock.RetryAttempts(actorlock.RetryForever))
	}()
	interrupted := pause(ctx, work)

	s.say(leaver, "shuts down")
	began := time.Now()
	left := leaver.Shutdown(ctx)
	lost := lock.Release(ctx)
	if err := errors.Join(interrupted, left, <-done); err != nil {
		return err
	}
	if !errors.Is(lost, actorlock.ErrShutdown) {
		return fmt.Errorf("a lock that a shutdown ended should say so, not: %v", lost)
	}
	s.say(leaver, "is told: %v", lost)
	s.say(waiter, "entered %v after the shutdown began", entered.Sub(began).Round(10*time.Microsecond))
	return nil
}

// pause is work that stops when ctx ends, and says why.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
