package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
)

// node is one life of a manager: after a restart there is another.
type node struct {
	w        *world
	place    int
	name     string
	m        *actorlock.Manager
	faults   *leasetest.Faulty
	failFast bool

	// Under the world's mutex.
	calls     map[string]uint64 // commands so far, by kind and key
	cutUntil  time.Time
	disturbed map[string]time.Time // by key: until when a fault has an effect
	closing   time.Time            // when Drain or Shutdown was called
	shut      time.Time            // when Shutdown was called
	running   int                  // callbacks and locks
}

func (n *node) String() string {
	if n == nil {
		return "stranger"
	}
	return n.name
}

// startNode starts a manager at a place of the cluster.
func (w *world) startNode(place int, failFast bool) *node {
	w.mu.Lock()
	w.lives++
	n := &node{
		w: w, place: place, name: fmt.Sprintf("n%d.%d", place, w.lives), failFast: failFast,
		calls: map[string]uint64{}, disturbed: map[string]time.Time{},
	}
	w.mu.Unlock()
	n.faults = leasetest.NewFaulty(view{w.ledger, n})
	for _, op := range []leasetest.Op{
		leasetest.OpAcquire, leasetest.OpExtend, leasetest.OpRelease, leasetest.OpReserve,
		leasetest.OpContended, leasetest.OpInspect, leasetest.OpWatch,
	} {
		n.faults.On(op, func(_ context.Context, key string) leasetest.Fault { return n.fault(op, key) })
	}
	m, err := actorlock.New(actorlock.Config{
		Store: n.faults, Node: n.name, PollerGap: w.plan.gap, FailAfterShutdown: failFast,
		Logger: slog.New(slog.DiscardHandler), System: w.system,
	})
	if err != nil {
		panic(err)
	}
	n.m = m
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots[place] = n
	w.note("%s starts", n)
	return n
}

// stop drains the manager if the act says so, and shuts it down.
func (n *node) stop(a act) {
	w := n.w
	if a.drain > 0 {
		w.locked(func() { n.close(); w.count.drains++ })
		ctx, cancel := context.WithTimeout(context.Background(), a.drain)
		begin := time.Now()
		err := n.m.Drain(ctx)
		w.locked(func() {
			w.note("%s has drained: %v", n, err)
			switch {
			case err == nil && n.running > 0:
				w.violated("%s: Drain returned while %d callbacks run", n, n.running)
			case err != nil && time.Since(begin) < a.drain:
				w.violated("%s: Drain gave up early: %v", n, err)
			}
		})
		cancel()
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if a.limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, a.limit)
	}
	defer cancel()
	w.locked(func() { n.close(); n.shut = time.Now(); w.count.shutdowns++ })
	time.AfterFunc(prompt, func() { w.locked(n.checkEnded) })
	err := n.m.Shutdown(ctx)
	n.checkShutdown(a, err)
}

func (n *node) close() {
	n.w.note("%s is closing", n)
	if n.closing.IsZero() {
		n.closing = time.Now()
	}
}

// checkEnded looks at the callbacks a moment after Shutdown was called.
func (n *node) checkEnded() {
	for _, holds := range n.w.holds {
		for _, h := range holds {
			if h.c.node == n && h.alive() {
				n.w.violated("%s still holds its lock after Shutdown", h)
			}
		}
	}
}

// checkShutdown looks at what a shutdown has left behind.
func (n *node) checkShutdown(a act, err error) {
	w := n.w
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	took := now.Sub(n.shut)
	w.note("%s has shut down: %v", n, err)
	most := 10 * time.Second
	switch {
	case a.limit > 0:
		most = a.limit + prompt
	case !w.plan.kind.faulty():
		most = w.command() + 10*ms
	}
	if took > most {
		w.violated("%s: Shutdown took %v", n, took)
	}
	if a.limit > 0 && err == context.DeadlineExceeded {
		return // of a second call: the first one goes on
	}
	var left *actorlock.ShutdownError
	if err != nil && !errors.As(err, &left) {
		w.violated("%s: Shutdown returned %v", n, err)
	}
	named := func(string) bool { return false }
	if left != nil {
		w.count.shutdownsLeft++
		named = func(key string) bool { return slices.Contains(left.Keys, key) }
		for _, key := range left.Keys {
			if !n.wasDisturbed(key) && !(a.limit > 0 && took >= a.limit) {
				w.violated("%s: Shutdown left %s without need: %v", n, key, err)
			}
		}
	}
	for key, r := range w.ledger.keys {
		if r.node == n && r.held(now) && !named(key) && !n.wasDisturbed(key) {
			w.violated("%s: %s is left after Shutdown, which returned %v", n, key, err)
		}
	}
	if alive := n.actors(); alive > 0 {
		w.violated("%s: %d actors are left after Shutdown", n, alive)
	}
	n.watchTimers(now)
}

// watchTimers finds timers that are left: they show when they send their message
// to an actor that is no more.
func (n *node) watchTimers(shut time.Time) {
	w := n.w
	stream := n.m.System().EventStream
	family := strings.SplitN(n.m.Registry().Id, "/", 2)[0] // the supervisor, whose descendants all are
	sub := stream.Subscribe(func(e any) {
		dead, ok := e.(*actor.DeadLetterEvent)
		if !ok || dead.PID == nil || strings.SplitN(dead.PID.Id, "/", 2)[0] != family || !time.Now().After(shut) {
			return
		}
		if what := fmt.Sprintf("%T", dead.Message); strings.HasSuffix(what, ".tick") || strings.HasSuffix(what, ".flush") {
			w.locked(func() { w.violated("%s: a timer was left after Shutdown: %s", n, what) })
		}
	})
	w.subs = append(w.subs, func() { stream.Unsubscribe(sub) })
}

// wasDisturbed says whether a fault has met key within the life of a lease.
func (n *node) wasDisturbed(key string) bool {
	until, ok := n.disturbed[key]
	return ok && time.Since(until) < 2*n.w.plan.maxTTL+5*time.Second
}

// actors counts those that are left in a system of the node's own.
func (n *node) actors() int {
	if n.w.system != nil {
		return 0
	}
	return actorsIn(n.m.System())
}

func actorsIn(system *actor.ActorSystem) int {
	count := -2 // the framework's own: event stream, dead letters
	for _, pids := range system.ProcessRegistry.LocalPIDs.LocalPIDs {
		count += pids.Count()
	}
	return count
}
