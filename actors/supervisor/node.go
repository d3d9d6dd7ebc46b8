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
	Pool      *warm.Pool // of goroutines that talk to the store
	Log       *slog.Logger
	System    *actor.ActorSystem // nil: one of its own
}

// Node is a running tree of actors. It is safe for concurrent use.
type Node struct {
	owners     *lockowner.Config
	cancel     context.CancelFunc // of owners.Context
	supervisor *actor.PID
	registry   *actor.PID
	ready      chan *actor.PID
	done       chan struct{}

	// Written by the supervisor before done is closed.
	left []string
	errs []error
}

// Start spawns the tree.
func Start(cfg Config) *Node {
	system := cfg.System
	if system == nil {
		system = tree.NewSystem(cfg.Log)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &Node{
		owners: &lockowner.Config{
			System: system, Store: cfg.Store, Node: cfg.Node, Origin: lease.NewID(), Prefix: cfg.Prefix,
			PollerGap: cfg.PollerGap, Log: cfg.Log, Work: tree.NewWork(cfg.Log, cfg.Pool), Context: ctx,
		},
		cancel: cancel,
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

// Release ends a hold. lent: the holder's goroutine runs the owner's errands.
func (n *Node) Release(h *lockowner.Hold, lent bool) {
	n.System().Root.Send(h.Owner(), &lockowner.Release{Hold: h, Lent: lent})
}

// Discard deletes a lost lease of ours in the background, now that the callback
// has settled.
func (n *Node) Discard(h *lockowner.Hold) {
	cfg := n.owners
	cfg.Work.Go(func() { h.Discard(cfg) }, func(error) {})
}

// Drain has waiting and new calls refused, except those on behalf of live leases.
func (n *Node) Drain() { n.System().Root.Send(n.supervisor, &drain{}) }

// Close starts the end: holds end, leases are released, actors stop.
func (n *Node) Close() { n.System().Root.Send(n.supervisor, &closeAll{}) }

// Abort ends a Close that takes too long, for the given reason.
func (n *Node) Abort(err error) { n.System().Root.Send(n.supervisor, &abort{err: err}) }

// Done is closed when every actor has stopped.
func (n *Node) Done() <-chan struct{} { return n.done }

// Settle waits for commands that are still in flight.
func (n *Node) Settle(ctx context.Context) error { return n.owners.Work.Wait(ctx) }

// Left says, after Done, which keys were left to expire and why.
func (n *Node) Left() error {
	if len(n.left) == 0 {
		return nil
	}
	slices.Sort(n.left)
	return &lease.ShutdownError{Keys: n.left, Err: errors.Join(n.errs...)}
}
