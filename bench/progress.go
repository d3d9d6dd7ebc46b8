package main

import (
	"fmt"
	"io"
	"time"
)

// sayEvery is the least time between two lines about the same scenario.
const sayEvery = 3 * time.Second

// progress tells somebody who waits how far a run has come.
type progress struct {
	w     io.Writer
	begin time.Time
	last  time.Time
	total int
	done  int
}

func newProgress(w io.Writer, scenarios int) *progress {
	return &progress{w: w, begin: time.Now(), total: scenarios}
}

// start begins the next scenario.
func (p *progress) start(name string) {
	p.done++
	p.line("%s", name)
}

// round begins a round of it. n is 0 for the one that warms up.
func (p *progress) round(name, contender string, n, of int) {
	if time.Since(p.last) < sayEvery {
		return
	}
	p.line("%s: round %d of %d, %s", name, n, of, contender)
}

func (p *progress) line(format string, args ...any) {
	p.last = time.Now()
	at := time.Since(p.begin).Round(time.Second)
	fmt.Fprintf(p.w, "%6s  [%d/%d] %s\n", at, p.done, p.total, fmt.Sprintf(format, args...))
}
