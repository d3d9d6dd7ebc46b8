// Package supervisor holds the root of the tree: it spawns the registry and the
// renewer, stops everything, and releases what is held at shutdown.
//
//	running --Close--> closing --all surrendered and released, or Abort--> stopped
package supervisor

import (
	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/asynkron/protoactor-go/actor"
)

func props(n *Node) *actor.Props {
	return tree.Props(n.owners.Work, func() actor.Actor {
		return &supervisor{node: n, flying: make(map[string]struct{})}
	})
}
