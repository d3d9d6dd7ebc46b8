package supervisor

import (
	"context"
	"time"

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
	maxErrors = 8               // different errors worth naming
)

type supervisor struct {
	node     *Node
	registry *actor.PID
	renewer  *actor.PID

	closing bool
	gaveUp  error // why an Abort came
	settled bool  // no more surrenders will come
	batch   []*lockowner.Surrendered
	queued  bool                // a flush is in the mailbox
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
		s.queued = false
		s.flush(c)
	case *released:
		s.released(m)
	case *registry.Closed:
		s.settled = true
		for _, key := range m.Open {
			s.leave(key, s.gaveUp)
		}
	case *actor.Terminated:
		s.terminated(c, m.Who)
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

// surrendered collects leases into batches. The flush comes behind whatever
// else has been surrendered by now.
func (s *supervisor) surrendered(c actor.Context, m *lockowner.Surrendered) {
	if m.Value == "" {
		return
	}
	if s.batch = append(s.batch, m); len(s.batch) >= batchSize {
		s.flush(c)
	} else if !s.queued {
		s.queued = true
		c.Send(c.Self(), &flush{})
	}
}

// flush sends the batch to the store.
func (s *supervisor) flush(c actor.Context) {
	if len(s.batch) == 0 {
		return
	}
	batch, cfg, self := s.batch, s.node.owners, c.Self()
	s.batch = nil
	m := &released{errs: make([]error, len(batch))}
	releases := make([]lease.Release, len(batch))
	for i, b := range batch {
		m.keys = append(m.keys, b.Key)
		releases[i] = lease.Release{Key: b.StoreKey, Value: b.Value, Origin: cfg.Origin}
		s.flying[b.Key] = struct{}{}
	}
	cfg.Work.Go(func() {
		ctx, cancel := context.WithTimeout(cfg.Context, patience)
		defer cancel()
		cfg.Store.Release(ctx, releases, func(i int, err error) {
			if !lease.IsLoss(err) { // somebody else's business by now
				m.errs[i] = err
			}
		})
		cfg.System.Root.Send(self, m)
	}, func(err error) {
		for i := range m.errs {
			m.errs[i] = err
		}
		cfg.System.Root.Send(self, m)
	})
}

func (s *supervisor) released(m *released) {
	for i, key := range m.keys {
		if _, ok := s.flying[key]; !ok {
			continue // given up before
		}
		delete(s.flying, key)
		if m.errs[i] != nil {
			s.leave(key, m.errs[i])
		}
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
