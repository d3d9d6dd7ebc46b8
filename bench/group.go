package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/bench/internal/lockers"
)

// abreast is how many locks are acquired, or released, at a time where many are
// held: more than connections, fewer than would wait for one in vain.
const abreast = 64

// group is many locks, held by a goroutine each until told otherwise.
type group struct {
	held    atomic.Int64 // sections that run now
	acquire chan struct{}
	leave   chan struct{}
	ended   sync.WaitGroup

	mu    sync.Mutex
	first error // the first one that a lock ended with
}

// hold acquires n locks, and returns when it has them. When some cannot be had
// within a limit, it goes on with those that can: what does not keep up with
// its own renewals never has all of them at once.
func hold(ctx context.Context, l lockers.Locker, n int) *group {
	g := &group{acquire: make(chan struct{}, abreast), leave: make(chan struct{})}
	patience := time.NewTimer(10*time.Second + time.Duration(n)*200*time.Microsecond)
	defer patience.Stop()
	for i := range n {
		select {
		case g.acquire <- struct{}{}:
		case <-patience.C:
			return g
		case <-ctx.Done():
			return g
		}
		g.start(ctx, l, fmt.Sprint("held:", i))
	}
	for range abreast { // the last ones are in, too
		select {
		case g.acquire <- struct{}{}:
		case <-patience.C:
			return g
		case <-ctx.Done():
			return g
		}
	}
	return g
}

func (g *group) start(ctx context.Context, l lockers.Locker, key string) {
	g.ended.Go(func() {
		// By the section, or in its place; ours may be left running when its lock
		// is lost, so that both could come here.
		var acquired sync.Once
		next := func() { <-g.acquire }
		err := l.Do(ctx, key, func(ctx context.Context) error {
			acquired.Do(next)
			g.held.Add(1)
			defer g.held.Add(-1)
			select {
			case <-g.leave:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		acquired.Do(next)
		if err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.first == nil {
				g.first = err
			}
		}
	})
}

// release ends the sections, a few at a time, and waits for all to be over.
func (g *group) release() {
	over := make(chan struct{})
	go func() {
		g.ended.Wait()
		close(over)
	}()
	pace := time.NewTicker(2 * time.Millisecond) // 32,000 a second
	defer pace.Stop()
	for {
		for range abreast {
			select {
			case g.leave <- struct{}{}:
			case <-over:
				return
			}
		}
		select {
		case <-pace.C:
		case <-over:
			return
		}
	}
}

// end ends all sections at once and waits for all to be over.
func (g *group) end() {
	close(g.leave)
	g.ended.Wait()
}

// err is the first error that a lock ended with.
func (g *group) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first
}
