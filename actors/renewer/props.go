// Package renewer extends the leases of a node. One actor keeps them ordered by
// when they need something, with one timer for all: it sends those that are due
// to the store together, and enforces each lease's deadline whatever has become
// of the command in flight.
//
//	tracked --TTL/3--> in flight --renewed--> tracked
//	                       |------ not ours, or failed under LoseAtOnce --> lost
//	                       |------ failed under RetryUntilDeadline --back-off--> in flight
//	any ----- deadline passed --> lost
package renewer

import (
	"log/slog"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// Config is what a renewer needs.
type Config struct {
	System *actor.ActorSystem
	Store  lease.Store
	Log    *slog.Logger
	Work   *tree.Work
}

// Props makes a renewer.
func Props(cfg Config) *actor.Props {
	return tree.Props(cfg.Work, func() actor.Actor { return &renewer{cfg: cfg} })
}
