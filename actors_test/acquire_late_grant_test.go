package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

// ender ends the ctx of a call in the moment in which its key is taken.
type ender struct {
	lease.Store
	end context.CancelFunc
}

func (s *ender) Acquire(ctx context.Context, a lease.Acquisition) (lease.Attempt, error) {
	at, err := s.Store.Acquire(ctx, a)
	if at.Acquired {
		s.end()
	}
	return at, err
}

// slowToReturn has whoever sends a release go on only when that has been dealt
// with.
func slowToReturn(msg any, send func()) {
	send()
	if _, ok := msg.(*lockowner.Release); ok {
		<-time.After(time.Second)
	}
}

// contract 2.7: a call whose ctx ends with the grant gets ctx's error, also when
// what it was granted has been released before that is known: success means that
// the callback was run.
func TestContextEndsWithTheGrant(t *testing.T) {
	for name, opts := range map[string][]actorlock.Option{"": nil, "await": {actorlock.AwaitCallback()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				ctx, cancel := context.WithCancel(t.Context())
				m := startManager(t, actorlock.Config{Store: &ender{Store: mem, end: cancel}, System: sending(slowToReturn)})
				foreign(mem, "k", 3*time.Second)
				err := m.WithLock(ctx, "k", never(t), append(opts, actorlock.RetryAttempts(forever))...)
				require.InDelta(t, 3, refused(t, err).Waited.Seconds(), 2)
				require.ErrorIs(t, err, context.Canceled)
				pass(2 * time.Second)
				require.Zero(t, mem.Len(), "what was granted goes back")
			})
		})
	}
}
