package simulation

import (
	"errors"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"

	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
)

var errInjected = errors.New("injected")

// fault is what happens to the next command of a kind on a key. It depends on
// the seed and on how many came before, not on what other commands there are.
func (n *node) fault(op leasetest.Op, key string) leasetest.Fault {
	w, p := n.w, n.w.plan
	w.mu.Lock()
	defer w.mu.Unlock()
	id := string(op) + " " + key
	h := fnv.New64a()
	_, _ = io.WriteString(h, n.name+" "+id)
	d := dice{rand.New(rand.NewPCG(p.seed^h.Sum64(), n.calls[id]))}
	n.calls[id]++
	w.count.commands++

	if op == leasetest.OpWatch {
		if p.kind.name != "calm" && d.chance(0.2) {
			w.count.faults["deaf watch"]++
			return leasetest.Fault{Hang: true}
		}
		return leasetest.Fault{}
	}
	now := time.Now()
	f := leasetest.Fault{Before: d.upTo(p.latency), After: d.upTo(p.latency)}
	what := ""
	if left := n.cutUntil.Sub(now); left > 0 {
		f, what = d.severed(left)
	} else if !w.quiet && d.chance(p.rate) {
		f, what = d.trouble(p, f)
	}
	if what != "" {
		w.count.faults[what]++
		w.note("%s %s: %s %s", n, id, what, lasts(f))
		until := now.Add(lasts(f))
		for _, k := range p.keys {
			// A panic ends a whole batch.
			if (k == key || f.Panic != nil) && until.After(n.disturbed[k]) {
				n.disturbed[k] = until
			}
		}
	}
	return f
}

func lasts(f leasetest.Fault) time.Duration { return f.Before + f.Limit + f.After }

// clientTimeout is when a client gives up on a command.
const clientTimeout = 500 * ms

// severed is a command to a store that cannot be reached for so long.
func (d dice) severed(left time.Duration) (leasetest.Fault, string) {
	switch {
	case left < clientTimeout:
		return leasetest.Fault{Before: left}, "held up by a cut"
	case d.chance(0.3):
		return leasetest.Fault{After: clientTimeout, Err: errInjected, Executed: true}, "reply cut off"
	}
	return leasetest.Fault{Before: clientTimeout, Err: errInjected}, "cut off"
}

// trouble is one of the faults that the plan has, around f, or none.
func (d dice) trouble(p *plan, f leasetest.Fault) (leasetest.Fault, string) {
	k := p.kind
	switch i := d.IntN(3); {
	case i == 0 && k.errors:
		f.Err = errInjected
		switch d.IntN(20) {
		case 0:
			f.Kind = lease.Permanent
			return f, "permanent error"
		case 1, 2:
			f.Err, f.Panic, f.Executed = nil, "injected", d.chance(0.5)
			return f, "panic"
		case 3, 4, 5:
			f.Kind = lease.NotExecuted
			return f, "error"
		case 6, 7, 8, 9:
			return f, "error, outcome unknown"
		}
		f.Executed = true
		return f, "lost reply"
	case i == 1 && k.slow:
		if most := p.maxTTL; d.chance(0.5) {
			f.Before += d.upTo(most)
			return f, "late command"
		} else {
			f.After += d.upTo(most)
			return f, "late reply"
		}
	case i == 2 && k.strays:
		return leasetest.Fault{Hang: true, Limit: ms + d.upTo(clientTimeout), Executed: true, After: d.upTo(p.maxTTL)}, "stray command"
	}
	return f, ""
}
