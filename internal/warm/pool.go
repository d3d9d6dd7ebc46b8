// Package warm runs functions in goroutines that are kept for a moment, so that
// the next function finds a stack that has grown already: a new goroutine that
// talks to a server spends more time on growing its stack than on anything else.
package warm

import (
	"sync"
	"time"
)

// keep is how long an idle goroutine is kept at least; twice that at most.
const keep = 200 * time.Millisecond

// Runner is something to run.
type Runner interface{ Run() }

// Func is a function as a Runner.
type Func func()

// Run calls f.
func (f Func) Run() { f() }

// Pool is a set of goroutines. It is safe for concurrent use.
type Pool struct {
	max int

	mu     sync.Mutex
	idle   []chan Runner // the last used on top
	unused int           // how many at the bottom were not used since the last trim
	trim   *time.Timer   // set while goroutines are idle
	closed bool
}

// New makes a pool that keeps at most max idle goroutines.
func New(max int) *Pool { return &Pool{max: max} }

// Go runs r in a goroutine other than the caller's. It never waits for one.
func (p *Pool) Go(r Runner) {
	p.mu.Lock()
	n := len(p.idle) - 1
	if n < 0 {
		p.mu.Unlock()
		go p.work(r)
		return
	}
	w := p.idle[n]
	p.idle = p.idle[:n]
	p.unused = min(p.unused, n)
	p.mu.Unlock()
	w <- r
}

// work is one goroutine. It ends early when r panics or calls runtime.Goexit.
func (p *Pool) work(r Runner) {
	var w chan Runner
	for r != nil {
		r.Run()
		if w == nil {
			w = make(chan Runner, 1)
		}
		if !p.park(w) {
			return
		}
		r = <-w
	}
}

func (p *Pool) park(w chan Runner) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= p.max {
		return false
	}
	p.idle = append(p.idle, w)
	if p.trim == nil {
		p.unused = 0
		p.trim = time.AfterFunc(keep, p.shrink)
	}
	return true
}

// shrink ends the goroutines that were idle throughout the last period.
func (p *Pool) shrink() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trim == nil {
		return // closed meanwhile
	}
	for _, w := range p.idle[:p.unused] {
		close(w)
	}
	n := copy(p.idle, p.idle[p.unused:])
	clear(p.idle[n:])
	p.idle = p.idle[:n]
	p.unused = n
	if n == 0 {
		p.trim = nil
		return
	}
	p.trim.Reset(keep)
}

// Close ends idle goroutines now, and busy ones when their function returns. Go
// still works afterwards, with a new goroutine for each call.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		close(w)
	}
	p.idle = nil
	if p.trim != nil {
		p.trim.Stop()
		p.trim = nil
	}
}
