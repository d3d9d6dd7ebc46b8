package simulation

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

const (
	// prompt is how long that may take which needs no time.
	prompt = 5 * ms
	// horizon is when callers that still wait are called off.
	horizon = 15 * time.Second
	// patience is how long the library waits for a command.
	patience = 3 * time.Second
)

// world is a plan that is being carried out.
type world struct {
	plan   *plan
	start  time.Time
	system *actor.ActorSystem // of all nodes; nil: each has its own
	ctx    context.Context    // of all calls; ends at the horizon

	callOff context.CancelFunc // ends ctx

	mu       sync.Mutex // of everything below and of all that belongs to it
	ledger   *ledger
	slots    []*node
	lives    int
	quiet    bool // no more faults
	pending  map[int][]*call
	holds    map[int][]*hold
	lastSeen map[int]uint64 // the highest token granted, by key
	unsettle int            // calls that have not returned
	events   []event
	broken   []string // violations
	count    counts
	subs     []func() // to be undone at the end

	aside sync.WaitGroup // callbacks that have been left behind
}

func newWorld(p *plan, system *actor.ActorSystem) *world {
	w := &world{
		plan: p, start: time.Now(), system: system, slots: make([]*node, p.nodes),
		pending: map[int][]*call{}, holds: map[int][]*hold{}, lastSeen: map[int]uint64{}, count: newCounts(),
	}
	w.ctx, w.callOff = context.WithCancel(context.Background())
	w.ledger = &ledger{mu: &w.mu, w: w, inner: memstore.New(), keys: map[string]*record{}, flaw: p.breaks}
	for i, key := range p.keys {
		w.ledger.keys[key] = &record{key: i, freed: w.start}
	}
	return w
}

// run carries the plan out, within a bubble.
func (p *plan) run(system *actor.ActorSystem) *world {
	w := newWorld(p, system)
	defer w.callOff()
	for i := range p.nodes {
		w.startNode(i, false)
	}
	var callers, acts sync.WaitGroup
	for _, c := range p.callers {
		callers.Go(func() {
			for i := range c.steps {
				w.call(&c.steps[i], c.node)
			}
		})
	}
	for _, a := range p.acts {
		acts.Go(func() {
			time.Sleep(a.at)
			w.act(a)
		})
	}

	done := make(chan struct{})
	go func() { callers.Wait(); close(done) }()
	within(done, horizon)
	w.locked(func() { w.quiet = true; w.note("no more faults"); w.checkFreeKeys() })
	w.callOff()
	if !within(done, time.Minute) {
		w.locked(w.unsettled)
		return w
	}
	acts.Wait()
	w.aside.Wait()
	w.end()
	w.count.simulated = time.Since(w.start)
	return w
}

// within waits for done, but no longer than limit.
func within(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// end shuts down what still runs and looks at what is left.
func (w *world) end() {
	var stops sync.WaitGroup
	for _, n := range w.slots {
		stops.Go(func() { n.stop(act{}) })
	}
	stops.Wait()
	// Strays, and leases that a fault has left to expire, end by themselves.
	time.Sleep(2*w.plan.maxTTL + patience)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, undo := range w.subs {
		undo()
	}
	for key, r := range w.ledger.keys {
		if r.node != nil && r.held(time.Now()) {
			w.violated("%s is held by %s long after the end", key, r.node)
		}
	}
}

// act does something to the cluster.
func (w *world) act(a act) {
	key := w.plan.keys[a.key]
	switch a.deed {
	case steal:
		w.ledger.rob(key, a.lasts)
	case erase:
		w.ledger.rob(key, 0)
	case rival:
		w.rival(key, a)
	case cut:
		w.locked(func() {
			n := w.slots[a.node]
			n.cutUntil = time.Now().Add(a.lasts)
			w.note("%s is cut off for %v", n, a.lasts)
			w.count.cuts++
		})
	case restart:
		w.restart(a)
	}
}

func (w *world) restart(a act) {
	w.mu.Lock()
	n := w.slots[a.node]
	again := !n.closing.IsZero() // by another act, at the same time
	w.count.restarts++
	w.mu.Unlock()
	if again {
		_ = n.m.Shutdown(context.Background())
		return
	}
	if a.overlap {
		w.locked(func() { n.closing = time.Now() })
		w.startNode(a.node, a.failFast)
		n.stop(a)
		return
	}
	n.stop(a)
	w.startNode(a.node, a.failFast)
}

// rival is a client of another make: it takes the key if it is free, and deletes
// it by comparing the value, or not in time.
func (w *world) rival(key string, a act) {
	v := view{w.ledger, nil}
	value := "rival/" + lease.NewID()
	at, err := v.Acquire(context.Background(), lease.Acquisition{Key: key, Value: value, TTL: a.lasts})
	if err != nil || !at.Acquired {
		return
	}
	w.locked(func() {
		w.count.rivals++
		w.strangerIn(w.ledger.keys[key])
	})
	time.Sleep(a.hold)
	v.Release(context.Background(), []lease.Release{{Key: key, Value: value}}, func(int, error) {})
}

func (w *world) locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// command is how long one takes that meets no fault, and a little more.
func (w *world) command() time.Duration { return 4*w.plan.latency + ms }
