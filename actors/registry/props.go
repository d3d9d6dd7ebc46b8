// Package registry holds the actor that knows which owner has which key. New
// callers of a key go to its owner, in order; a caller whose lineage holds the
// key already gets that hold. Owners with nothing to do are kept for other keys,
// a bounded number of them, or stopped.
//
//	open --Drain--> draining --Close--> closing --all owners surrendered--> closed
package registry

import (
	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/asynkron/protoactor-go/actor"
)

// Config is what a registry needs.
type Config struct {
	Owners *lockowner.Config
	Spare  int // how many idle owners are kept for reuse
}

// Props makes a registry.
func Props(cfg Config) *actor.Props {
	return tree.Props(cfg.Owners.Work, func() actor.Actor {
		return &registry{cfg: cfg, props: lockowner.Props(cfg.Owners), owners: make(map[string]*entry), fired: make(map[string]bool)}
	})
}
