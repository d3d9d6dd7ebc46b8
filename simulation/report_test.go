package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
)

// event is a line of the trace; it is put into words only when that is needed.
type event struct {
	at   time.Duration
	text string
	args []any
}

func (e event) String() string {
	return fmt.Sprintf("%12s  %s", e.at.Round(ms/10), fmt.Sprintf(e.text, e.args...))
}

func (w *world) note(text string, args ...any) {
	w.events = append(w.events, event{time.Since(w.start), text, args})
}

// violated notes that the contract was broken.
func (w *world) violated(text string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(text, args...))
	w.note("VIOLATED: "+text, args...)
}

// unsettled reports calls that do not return.
func (w *world) unsettled() { w.violated("%d calls never returned", w.unsettle) }

// report is what is told of a seed that has failed.
func (w *world) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s\n", w.plan.seed, w.plan)
	for _, line := range w.broken {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "replay: %s\n", replay(w.plan.seed))
	for _, e := range w.events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

func replay(seed uint64) string {
	return fmt.Sprintf("go test -race ./simulation -run 'TestSimulation$' -count 20 -seed %d", seed)
}

func (p *plan) String() string {
	return fmt.Sprintf("%s, %d nodes, %d keys, %d callers, TTL %v, latency %v", p.kind.name, p.nodes, len(p.keys), len(p.callers), p.ttl, 2*p.latency)
}

// describe is a call as the trace shows it.
func (c *call) describe() string {
	s := c.step
	var b strings.Builder
	fmt.Fprintf(&b, "%s, TTL %v, hold %v, attempts %d every %v", []string{"method", "function", "Acquire", "Inspect"}[s.form], s.ttl, s.hold, s.attempts, s.delay)
	for _, o := range []struct {
		is   bool
		text string
	}{
		{s.wait > 0, ", wait " + s.wait.String()}, {s.giveUp > 0, ", ctx ends in " + s.giveUp.String()},
		{s.retry, ", retries"}, {s.await, ", awaits"}, {!s.handOver, ", no hand-over"}, {!s.fencing, ", no fencing"},
		{c.outer != nil, ", nested"}, {s.aside, ", aside"}, {!s.obeys, ", does not obey"},
	} {
		if o.is {
			b.WriteString(o.text)
		}
	}
	return b.String()
}

// counts is what a run has covered.
type counts struct {
	simulated                                                   time.Duration
	calls, sections, reentries, commands                        int
	done, refused, held, cancelled, parked, storeErrors         int
	panics, exits, looks                                        int
	thefts, deletions, robbed, overlaps, rivals, cuts, restarts int
	drains, shutdowns, shutdownsLeft                            int
	losses, faults                                              map[string]int
}

func newCounts() counts { return counts{losses: map[string]int{}, faults: map[string]int{}} }

// loss counts a lost lock by its reason.
func (c *counts) loss(e *actorlock.LockLostError) {
	for _, reason := range []error{lease.ErrShutdown, lease.ErrReleased, lease.ErrLeaseExpired, lease.ErrLeaseGone, lease.ErrLeaseTaken} {
		if errors.Is(e.Err, reason) {
			c.losses[reason.Error()]++
			return
		}
	}
	c.losses["store error"]++
}

func (c *counts) add(o counts) {
	c.simulated += o.simulated
	for _, p := range c.pairs(&o) {
		*p.sum += *p.more
	}
	for k, n := range o.losses {
		c.losses[k] += n
	}
	for k, n := range o.faults {
		c.faults[k] += n
	}
}

type pair struct {
	name      string
	sum, more *int
}

func (c *counts) pairs(o *counts) []pair {
	return []pair{
		{"calls", &c.calls, &o.calls}, {"critical sections", &c.sections, &o.sections},
		{"re-entries", &c.reentries, &o.reentries}, {"commands", &c.commands, &o.commands},
		{"callbacks reported", &c.done, &o.done}, {"refused", &c.refused, &o.refused}, {"of them held", &c.held, &o.held},
		{"cancelled", &c.cancelled, &o.cancelled}, {"by shutdown", &c.parked, &o.parked},
		{"by store errors", &c.storeErrors, &o.storeErrors}, {"panics", &c.panics, &o.panics},
		{"exits", &c.exits, &o.exits}, {"looks", &c.looks, &o.looks}, {"thefts", &c.thefts, &o.thefts},
		{"deletions", &c.deletions, &o.deletions}, {"holders robbed", &c.robbed, &o.robbed},
		{"overlaps after that", &c.overlaps, &o.overlaps}, {"rivals", &c.rivals, &o.rivals}, {"cuts", &c.cuts, &o.cuts},
		{"restarts", &c.restarts, &o.restarts}, {"drains", &c.drains, &o.drains}, {"shutdowns", &c.shutdowns, &o.shutdowns},
		{"shutdowns that left keys", &c.shutdownsLeft, &o.shutdownsLeft},
	}
}

func (c *counts) String() string {
	var b strings.Builder
	for _, p := range c.pairs(c) {
		fmt.Fprintf(&b, "%s %d, ", p.name, *p.sum)
	}
	for _, m := range []struct {
		name string
		m    map[string]int
	}{{"losses", c.losses}, {"faults", c.faults}} {
		fmt.Fprintf(&b, "\n%s:", m.name)
		for _, k := range slices.Sorted(maps.Keys(m.m)) {
			fmt.Fprintf(&b, " %s %d;", k, m.m[k])
		}
	}
	return b.String()
}

// missed names what a run that is large enough should have met, and did not.
func (c *counts) missed() []string {
	var none []string
	for _, p := range c.pairs(c) {
		if *p.sum == 0 {
			none = append(none, p.name)
		}
	}
	for _, reason := range []error{lease.ErrShutdown, lease.ErrReleased, lease.ErrLeaseExpired, lease.ErrLeaseGone, lease.ErrLeaseTaken, errors.New("store error")} {
		if c.losses[reason.Error()] == 0 {
			none = append(none, "loss: "+reason.Error())
		}
	}
	for _, f := range []string{
		"deaf watch", "held up by a cut", "reply cut off", "cut off", "permanent error", "panic", "error",
		"error, outcome unknown", "lost reply", "late command", "late reply", "stray command",
	} {
		if c.faults[f] == 0 {
			none = append(none, "fault: "+f)
		}
	}
	return none
}
