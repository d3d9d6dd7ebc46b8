package registry

import "github.com/actorlock/actorlock/actors/internal/tree"

// Drain: supervisor -> registry. Grant locks only on behalf of live leases from
// now on; others are refused with ErrShutdown. No reply.
type Drain struct{ tree.Quiet }

// Close: supervisor -> registry. End every hold and every wait. Each owner's
// *lockowner.Surrendered is passed on, then comes *Closed.
type Close struct{ tree.Quiet }

// Abort: supervisor -> registry, after Close. Do not wait for owners with a
// command in flight: *Closed comes at once.
type Abort struct{ tree.Quiet }

// Closed: registry -> supervisor. Nothing more will come. Open names the keys
// whose owners have not surrendered.
type Closed struct {
	tree.Quiet
	Open []string
}

// tick: timer -> registry.
type tick struct{ tree.Quiet }
