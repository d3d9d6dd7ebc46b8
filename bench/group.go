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
	g.ended.Add(1)
	m := &member{group: g, ctx: ctx, locker: l, key: key}
	go m.run() // not ended.Go, whose frame would be below the member's
}

// member is one goroutine that holds a lock. It needs little stack of its own,
// which counts as memory of a held key.
type member struct {
	group    *group
	ctx      context.Context
	locker   lockers.Locker
	key      string
	acquired sync.Once
}

func (m *member) run() {
	defer m.group.ended.Done()
	err := m.locker.Do(m.ctx, m.key, m.section)
	m.acquired.Do(m.next)
	if err != nil {
		m.group.fail(err)
	}
}

// next lets another member acquire. It is for the section, or comes in its place;
// ours may be left running when its lock is lost, so that both could do it.
func (m *member) next() { <-m.group.acquire }

func (m *member) section(ctx context.Context) error {
	m.acquired.Do(m.next)
	m.group.held.Add(1)
	defer m.group.held.Add(-1)
	select {
	case <-m.group.leave:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fail keeps the first error.
func (g *group) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first == nil {
		g.first = err
	}
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
