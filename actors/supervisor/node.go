package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/internal/warm"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// Config is what a node needs.
type Config struct {
	Store     lease.Store
	Node      string
	Prefix    string
	PollerGap time.Duration
	Log       *slog.Logger
	System    *actor.ActorSystem // nil: one of its own
}

// Node is a running tree of actors. It is safe for concurrent use.
type Node struct {
	owners     *lockowner.Config
	cancel     context.CancelFunc // of owners.Context
	pool       *warm.Pool         // actors and commands
	supervisor *actor.PID
	registry   *actor.PID
	ready      chan *actor.PID
	done       chan struct{}

	// Written by the supervisor before done is closed.
	left []string
	errs []error
}

// maxWarm is how many goroutines are kept for the next actor or command, for a
// fraction of a second.
const maxWarm = 1024

// Start spawns the tree.
func Start(cfg Config) *Node {
	system := cfg.System
	if system == nil {
		system = tree.NewSystem(cfg.Log)
	}
	ctx, cancel := context.WithCancel(context.Background())
	pool := warm.New(maxWarm)
	n := &Node{
		owners: &lockowner.Config{
			System: system, Store: cfg.Store, Node: cfg.Node, Origin: lease.NewID(), Prefix: cfg.Prefix,
			PollerGap: cfg.PollerGap, Log: cfg.Log, Work: tree.NewWork(cfg.Log, pool), Clock: tree.NewClock(system),
			Context: lease.Patiently(ctx), // owners have their own arrangements for a store that hangs
		},
		cancel: cancel,
		pool:   pool,
		ready:  make(chan *actor.PID, 1),
		done:   make(chan struct{}),
	}
	n.supervisor = system.Root.Spawn(props(n))
	n.registry = <-n.ready
	return n
}

// System is the actor system that the tree lives in.
func (n *Node) System() *actor.ActorSystem { return n.owners.System }

// Registry is where callers' messages go.
func (n *Node) Registry() *actor.PID { return n.registry }

// Origin is the random id of this node, which its holds carry.
func (n *Node) Origin() string { return n.owners.Origin }

// Send sends a message to the registry.
func (n *Node) Send(m any) { n.System().Root.Send(n.registry, m) }

// Release ends a hold.
func (n *Node) Release(h *lockowner.Hold) { n.System().Root.Send(h.Owner(), h.Release()) }

// Discard deletes a lost lease of ours in the background, now that the callback
// has settled.
func (n *Node) Discard(h *lockowner.Hold) {
	n.owners.Work.Go(h.Discard, func(error) {})
}

// Look asks the store for the state of key, which has its prefix.
func (n *Node) Look(ctx context.Context, key string) (s lease.State, err error) {
	defer tree.Caught(n.owners.Log, func(e error) { err = e })
	return n.owners.Store.Inspect(ctx, key)
}

// Drain has waiting and new calls refused, except those on behalf of live leases.
func (n *Node) Drain() { n.System().Root.Send(n.supervisor, &drain{}) }

// Close starts the end: holds end, leases are released, actors stop.
func (n *Node) Close() { n.System().Root.Send(n.supervisor, &closeAll{}) }

// Abort ends a Close that takes too long, for the given reason.
func (n *Node) Abort(err error) { n.System().Root.Send(n.supervisor, &abort{err: err}) }

// Done is closed when every actor has stopped.
func (n *Node) Done() <-chan struct{} { return n.done }

// Settle waits, after Done, for commands that are still in flight, and lets idle
// goroutines go.
func (n *Node) Settle(ctx context.Context) error {
	defer n.pool.Close()
	return n.owners.Work.Wait(ctx)
}

// Left says, after Done, which keys were left to expire and why.
func (n *Node) Left() error {
	if len(n.left) == 0 {
		return nil
	}
	// A copy for each that asks: several calls of Shutdown may.
	return &lease.ShutdownError{Keys: slices.Sorted(slices.Values(n.left)), Err: errors.Join(n.errs...)}
}
