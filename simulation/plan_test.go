package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/actorlock/actorlock"
)

const ms = time.Millisecond

// kind is what may go wrong in a plan.
type kind struct {
	name   string
	thefts bool // keys are deleted and overwritten
	errors bool // commands fail, before or after they were executed
	slow   bool // commands and replies are delayed, beyond TTLs
	cuts   bool // a node loses the store for a while
	strays bool // commands are executed after their client has given up
}

// faulty says whether commands fail.
func (k kind) faulty() bool { return k.errors || k.slow || k.cuts || k.strays }

var kinds = []kind{
	{name: "calm"},
	{name: "calm"},
	{name: "thefts", thefts: true},
	{name: "thefts", thefts: true},
	{name: "errors", errors: true},
	{name: "slow", slow: true},
	{name: "cuts", cuts: true},
	{name: "strays", strays: true},
	{name: "wild", thefts: true, errors: true, slow: true, cuts: true, strays: true},
	{name: "wild", thefts: true, errors: true, slow: true, cuts: true, strays: true},
}

// plan is everything that a seed decides.
type plan struct {
	seed    uint64
	kind    kind
	nodes   int
	keys    []string
	ttl     time.Duration // most calls ask for it
	maxTTL  time.Duration // none asks for more
	latency time.Duration // a command takes up to twice as long in good times
	rate    float64       // of faults among commands, in bad times
	gap     time.Duration // Config.PollerGap
	callers []callerPlan
	acts    []act
	breaks  flaw // of the store itself, to see that it is found
}

// callerPlan is one goroutine that makes calls on a node, one after the other.
type callerPlan struct {
	node  int
	steps []step
}

type form int

const (
	plain   form = iota // the method WithLock
	generic             // the function WithLock
	manual              // Acquire and Release
	look                // Inspect
)

type ending int

const (
	returns ending = iota
	fails
	panics
	exits // by runtime.Goexit
)

// step is one call.
type step struct {
	id     int
	form   form
	key    int
	pause  time.Duration // before the call
	giveUp time.Duration // its ctx ends so long after it began; 0: it does not
	hold   time.Duration
	obeys  bool // the callback ends when its ctx does
	ending ending
	inner  []step // called within the callback
	aside  bool   // an inner one: in a goroutine that the callback does not wait for

	ttl, delay, wait time.Duration
	attempts         int
	retry            bool // RetryUntilDeadline
	await            bool
	handOver         bool
	fencing          bool
}

func (s *step) options() []actorlock.Option {
	o := []actorlock.Option{
		actorlock.TTL(s.ttl), actorlock.RetryDelay(s.delay), actorlock.RetryAttempts(s.attempts),
		actorlock.HandOver(s.handOver), actorlock.Fencing(s.fencing),
	}
	if s.wait > 0 {
		o = append(o, actorlock.Wait(s.wait))
	}
	if s.retry {
		o = append(o, actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	}
	if s.await {
		o = append(o, actorlock.AwaitCallback())
	}
	return o
}

type deed int

const (
	steal   deed = iota // a key, whoever holds it
	erase               // a key
	rival               // a client of another make: SET NX, later compare-and-delete
	cut                 // a node from the store
	restart             // a node
)

// act is something that happens to the cluster.
type act struct {
	at       time.Duration
	deed     deed
	key      int
	node     int
	lasts    time.Duration // a theft's TTL, a rival's TTL, a cut
	hold     time.Duration // of a rival
	drain    time.Duration // before the shutdown, bounded by this; 0: none
	limit    time.Duration // of the shutdown; 0: none
	overlap  bool          // the successor starts before the shutdown has ended
	failFast bool          // the successor has FailAfterShutdown
}

// newPlan is what seed decides.
func newPlan(seed uint64) *plan {
	d := dice{rand.New(rand.NewPCG(seed, 0x5eed))}
	p := &plan{seed: seed, kind: kinds[d.IntN(len(kinds))]}
	p.nodes = 2 + d.IntN(3)
	for i := range 1 + d.IntN(3) {
		p.keys = append(p.keys, fmt.Sprintf("key-%d", i))
	}
	p.ttl = []time.Duration{150 * ms, 300 * ms, 600 * ms, 2000 * ms}[d.IntN(4)]
	p.maxTTL = 2 * p.ttl
	if d.chance(0.7) {
		p.latency = d.upTo(2 * ms)
	}
	p.rate = 0.02 + 0.2*d.Float64()
	if d.chance(0.2) {
		p.gap = d.upTo(20 * ms)
	}
	id := 0
	for node := range p.nodes {
		for range 2 + d.IntN(4) {
			c := callerPlan{node: node}
			for range 2 + d.IntN(4) {
				c.steps = append(c.steps, d.step(p, &id, 0, 0, -1))
			}
			p.callers = append(p.callers, c)
		}
	}
	d.acts(p)
	return p
}

// dice makes choices.
type dice struct{ *rand.Rand }

func (d dice) chance(p float64) bool { return d.Float64() < p }

// upTo is between 0 and most, and a multiple of a tenth of a millisecond, so
// that things do happen at the same time now and then.
func (d dice) upTo(most time.Duration) time.Duration {
	const grain = ms / 10
	return time.Duration(d.Int64N(int64(most/grain)+1)) * grain
}

// step chooses a call. Nested calls take their keys in order, lowest first, as
// programs should; from is the lowest that is left. root is the outermost key.
func (d dice) step(p *plan, id *int, depth, from, root int) step {
	*id++
	s := step{
		id: *id, form: []form{plain, plain, generic, manual, manual, look}[d.IntN(6)],
		key:  from + d.IntN(len(p.keys)-from),
		ttl:  p.ttl,
		hold: d.upTo(p.ttl / 2), obeys: d.chance(0.5),
		delay:    5*ms + d.upTo(150*ms),
		attempts: []int{0, 1, 3, 10, 30, actorlock.RetryForever, actorlock.RetryForever}[d.IntN(7)],
		retry:    d.chance(0.5), await: d.chance(0.2), handOver: d.chance(0.85), fencing: d.chance(0.9),
	}
	if root < 0 {
		root = s.key
	}
	switch d.IntN(4) {
	case 0:
		s.ttl = []time.Duration{p.ttl / 2, p.ttl / 3, 2 * p.ttl, p.ttl * 5 / 4}[d.IntN(4)]
	case 1:
		s.hold = d.upTo(3 * p.ttl)
	case 2:
		s.hold = 0
	}
	if d.chance(0.4) {
		s.pause = d.upTo(400 * ms)
	}
	if d.chance(0.3) {
		s.wait = ms + d.upTo(1500*ms)
	}
	if d.chance(0.8) {
		s.giveUp = ms + d.upTo(6*p.ttl)
	}
	if d.chance(0.1) {
		s.ending = []ending{fails, fails, panics, exits}[d.IntN(4)]
	}
	if depth < 3 && d.chance(0.25) {
		for range 1 + d.IntN(2) {
			in := d.step(p, id, depth+1, s.key, root)
			if d.chance(0.5) {
				in.key = []int{s.key, root}[d.IntN(2)] // re-entry
			}
			if in.form == look {
				in.form = plain
			}
			in.hold /= 2
			if d.chance(0.2) {
				in.aside, in.inner, in.pause = true, nil, 0
			}
			s.inner = append(s.inner, in)
		}
	}
	return s
}

// acts chooses what happens to the cluster.
func (d dice) acts(p *plan) {
	add := func(chance float64, most int, make func() act) {
		if !d.chance(chance) {
			return
		}
		for range 1 + d.IntN(most) {
			a := make()
			a.at, a.key, a.node = d.upTo(4*p.ttl+500*ms), d.IntN(len(p.keys)), d.IntN(p.nodes)
			p.acts = append(p.acts, a)
		}
	}
	add(0.3, 6, func() act {
		ttl := 10*ms + d.upTo(p.ttl)
		return act{deed: rival, lasts: ttl, hold: d.upTo(ttl)}
	})
	if p.kind.thefts {
		add(0.8, 6, func() act { return act{deed: steal, lasts: ms + d.upTo(p.ttl)} })
		add(0.8, 6, func() act { return act{deed: erase} })
	}
	if p.kind.cuts {
		add(1, 4, func() act { return act{deed: cut, lasts: d.upTo(3 * p.ttl)} })
	}
	add(0.6, 3, func() act {
		a := act{deed: restart, overlap: d.chance(0.5), failFast: d.chance(0.3)}
		if d.chance(0.4) {
			a.drain = ms + d.upTo(2*p.ttl)
		}
		if d.chance(0.3) {
			a.limit = ms + d.upTo(100*ms)
		}
		return a
	})
	slices.SortStableFunc(p.acts, func(a, b act) int { return int(a.at - b.at) })
}
