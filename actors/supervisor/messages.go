package supervisor

import "github.com/actorlock/actorlock/actors/internal/tree"

// drain: Node -> supervisor. Passed on to the registry.
type drain struct{ tree.Quiet }

// closeAll: Node -> supervisor. End and release everything, then stop.
type closeAll struct{ tree.Quiet }

// abort: Node -> supervisor. Stop now; what is not released yet is left.
type abort struct {
	tree.Quiet
	err error
}

// flush: timer -> supervisor. A batch has waited long enough.
type flush struct{ tree.Quiet }

// released: a release's goroutine -> supervisor.
type released struct {
	tree.Quiet
	key string // as callers know it
	err error  // nil when it is released, or not ours any more
}
