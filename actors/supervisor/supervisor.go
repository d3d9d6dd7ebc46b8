package supervisor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/actors/registry"
	"github.com/actorlock/actorlock/actors/renewer"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

const (
	batchSize = 256             // releases in one batch
	patience  = 3 * time.Second // for one batch
	spare     = 128             // idle owners kept for reuse
	gather    = 2 * time.Millisecond
	maxErrors = 8 // different errors worth naming
)

type supervisor struct {
	node     *Node
	registry *actor.PID
	renewer  *actor.PID

	closing bool
	gaveUp  error // why an Abort came
	settled bool  // no more surrenders will come
	batch   []*lockowner.Surrendered
	timer   *tree.Timer         // of the flush
	flying  map[string]struct{} // keys whose release is in flight
}

// Receive implements actor.Actor.
func (s *supervisor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		s.start(c)
	case *drain:
		c.Send(s.registry, &registry.Drain{})
	case *closeAll:
		s.close(c)
	case *abort:
		s.abort(c, m.err)
	case *lockowner.Surrendered:
		s.surrendered(c, m)
	case *flush:
		s.flush(c)
	case *released:
		s.released(m)
	case *registry.Closed:
		s.settled = true
		for _, key := range m.Open {
			s.leave(key, s.gaveUp)
		}
		s.flush(c)
	case *actor.Terminated:
		s.terminated(c, m.Who)
	case *actor.Stopping:
		s.timer.Stop()
		return
	case *actor.Stopped:
		s.node.cancel()
		close(s.node.done)
		return
	default:
		return
	}
	if s.settled && len(s.batch) == 0 && len(s.flying) == 0 {
		c.Stop(c.Self())
	}
}

func (s *supervisor) start(c actor.Context) {
	cfg := s.node.owners
	s.timer = tree.NewTimer(cfg.System, c.Self(), &flush{})
	s.renewer = c.Spawn(renewer.Props(renewer.Config{
		System: cfg.System, Store: cfg.Store, Log: cfg.Log, Work: cfg.Work,
	}))
	cfg.Renewer = s.renewer
	s.registry = c.Spawn(registry.Props(registry.Config{Owners: cfg, Spare: spare}))
	s.node.ready <- s.registry
}

func (s *supervisor) close(c actor.Context) {
	if !s.closing {
		s.closing = true
		c.Send(s.registry, &registry.Close{})
	}
}

// abort leaves what is not released yet. Commands in flight are given up, and
// end with the client's own time-outs.
func (s *supervisor) abort(c actor.Context, err error) {
	s.gaveUp = err
	s.close(c)
	s.node.cancel()
	for _, m := range s.batch {
		s.leave(m.Key, err)
	}
	s.batch = nil
	for key := range s.flying {
		s.leave(key, err)
	}
	clear(s.flying)
	c.Send(s.registry, &registry.Abort{})
}

// surrendered collects leases into batches: one goes out when it is full, when
// nothing more will come, or when its first lease has waited for a moment, since
// some owners still have a command in flight.
func (s *supervisor) surrendered(c actor.Context, m *lockowner.Surrendered) {
	if m.Value == "" {
		return
	}
	if s.gaveUp != nil {
		s.leave(m.Key, s.gaveUp)
		return
	}
	if s.batch = append(s.batch, m); len(s.batch) >= batchSize {
		s.flush(c)
	} else {
		s.timer.Set(time.Now().Add(gather))
	}
}

// flush sends the batch to the store. Each verdict counts when it comes,
// whatever becomes of the others.
func (s *supervisor) flush(c actor.Context) {
	if len(s.batch) == 0 {
		return
	}
	batch, cfg, self := s.batch, s.node.owners, c.Self()
	s.batch = nil
	releases := make([]lease.Release, len(batch))
	for i, b := range batch {
		releases[i] = lease.Release{Key: b.StoreKey, Value: b.Value, Origin: cfg.Origin}
		s.flying[b.Key] = struct{}{}
	}
	told := make([]atomic.Bool, len(batch))
	tell := func(i int, err error) {
		if told[i].Swap(true) {
			return
		}
		if lease.IsLoss(err) {
			err = nil // somebody else's business by now
		}
		cfg.System.Root.Send(self, &released{key: batch[i].Key, err: err})
	}
	rest := func(err error) {
		for i := range batch {
			tell(i, err)
		}
	}
	cfg.Work.Go(func() {
		ctx, cancel := context.WithTimeout(cfg.Context, patience)
		defer cancel()
		cfg.Store.Release(ctx, releases, tell)
		rest(lease.ErrNoReply)
	}, rest)
}

func (s *supervisor) released(m *released) {
	if _, ok := s.flying[m.key]; !ok {
		return // given up before
	}
	delete(s.flying, m.key)
	if m.err != nil {
		s.leave(m.key, m.err)
	}
}

// leave notes a key that is left to expire.
func (s *supervisor) leave(key string, err error) {
	n := s.node
	n.left = append(n.left, key)
	for _, e := range n.errs {
		if e.Error() == err.Error() {
			return
		}
	}
	if len(n.errs) < maxErrors {
		n.errs = append(n.errs, err)
	}
}

// terminated: a node without its registry or renewer cannot keep its promises,
// so it ends all holds rather than go on.
func (s *supervisor) terminated(c actor.Context, who *actor.PID) {
	switch {
	case who.Equal(s.registry):
		s.settled = true
	case who.Equal(s.renewer):
		s.close(c)
	}
}
