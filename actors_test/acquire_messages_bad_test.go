package actors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease/memstore"
)

// contract 2.5: a grant that reaches nobody, since the message has no place for
// the answer, goes on to the next caller.
func TestGrantThatReachesNobody(t *testing.T) {
	for name, reply := range map[string]chan any{"none": nil, "without room": make(chan any)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				m := newManager(t, mem, retryForever)
				h := hold(t, m, "k")
				for range 100 {
					m.System().Root.Send(m.Registry(), &lockowner.Acquire{
						Key: "k", Reply: reply,
						Ask: lockowner.Ask{TTL: time.Second, Attempts: forever, HandOver: true},
					})
				}
				queued(t, m, "k", 100)
				next := start(m, "k", nothing)
				queued(t, m, "k", 101)
				require.NoError(t, h.let())
				require.NoError(t, next.wait())
				pass(time.Second)
				require.Zero(t, mem.Len())
			})
		})
	}
}

// contract 8.4, 10.1: messages that say nothing cost no lock.
func TestMessagesWithoutContent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := memstore.New()
		m := newManager(t, mem)
		reply := make(chan any, 2)
		root := m.System().Root
		root.Send(m.Registry(), &lockowner.Acquire{Key: "k", Ask: lockowner.Ask{TTL: time.Second}, Reply: reply})
		granted := (<-reply).(*lockowner.Granted)
		for _, msg := range []any{(*lockowner.Acquire)(nil), (*lockowner.Cancel)(nil), (*lockowner.Inspect)(nil), nil} {
			root.Send(m.Registry(), msg)
			pass(time.Second)
			require.NoError(t, granted.Hold.Ended(time.Now()), "%T", msg)
		}
		for _, msg := range []any{
			&lockowner.Acquire{}, &lockowner.Acquire{Key: "bad"}, &lockowner.Cancel{}, &lockowner.Cancel{Acquire: &lockowner.Acquire{Key: "k"}},
			&lockowner.Inspect{}, &lockowner.Inspect{Key: "k"}, &lockowner.Release{}, "nonsense",
		} {
			root.Send(m.Registry(), msg)
			if _, once := msg.(*lockowner.Acquire); !once {
				root.Send(granted.Hold.Owner(), msg)
			}
			pass(time.Second)
			require.NoError(t, granted.Hold.Ended(time.Now()), "%T", msg)
		}
		root.Send(granted.Hold.Owner(), granted.Hold.Release())
		require.IsType(t, &lockowner.Released{}, <-reply)
		require.NoError(t, m.WithLock(t.Context(), "k", nothing))
	})
}

// contract 6.4: a lineage that nothing was put into is an empty one.
func TestMessageWithAnEmptyLineage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManager(t, memstore.New())
		h := hold(t, m, "other")
		reply := make(chan any, 2)
		m.System().Root.Send(m.Registry(), &lockowner.Acquire{
			Key: "k", Ask: lockowner.Ask{TTL: time.Second}, Lineage: &lockowner.Lineage{}, Reply: reply,
		})
		granted := (<-reply).(*lockowner.Granted)
		m.System().Root.Send(granted.Hold.Owner(), granted.Hold.Release())
		require.IsType(t, &lockowner.Released{}, <-reply)
		drained := make(chan error)
		go func() { drained <- m.Drain(t.Context()) }()
		pass(time.Second)
		m.System().Root.Send(m.Registry(), &lockowner.Acquire{
			Key: "k", Ask: lockowner.Ask{TTL: time.Second}, Lineage: &lockowner.Lineage{}, Reply: reply,
		})
		require.ErrorIs(t, (<-reply).(*lockowner.Refused).Err, actorlock.ErrShutdown)
		require.NoError(t, h.let())
		require.NoError(t, <-drained)
	})
}
