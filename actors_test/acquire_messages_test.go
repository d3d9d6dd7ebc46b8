package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// ask sends an Acquire to a manager's registry.
func ask(m *actorlock.Manager, key string, attempts int) *lockowner.Acquire {
	a := &lockowner.Acquire{
		Key:   key,
		Ask:   lockowner.Ask{TTL: time.Minute, Attempts: attempts, Delay: time.Second, HandOver: true, Fencing: true},
		Reply: make(chan any, 2),
	}
	m.System().Root.Send(m.Registry(), a)
	return a
}

// answer is the next answer in a bubble, nil when there is none.
func answer(a *lockowner.Acquire) any {
	synctest.Wait()
	select {
	case m := <-a.Reply:
		return m
	default:
		return nil
	}
}

func granted(t *testing.T, a *lockowner.Acquire) *lockowner.Hold {
	t.Helper()
	m := answer(a)
	require.IsType(t, &lockowner.Granted{}, m)
	return m.(*lockowner.Granted).Hold
}

func release(m *actorlock.Manager, h *lockowner.Hold) {
	m.System().Root.Send(h.Owner(), &lockowner.Release{Hold: h})
}

// contract 2.5
func TestMessagesAreAnsweredInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManager(t, memstore.New())
		var all []*lockowner.Acquire
		for range 5 {
			all = append(all, ask(m, "k", lockowner.Forever))
		}
		for i, a := range all {
			h := granted(t, a)
			for _, later := range all[i+1:] {
				require.Nil(t, answer(later))
			}
			release(m, h)
			require.IsType(t, &lockowner.Released{}, answer(a))
			release(m, h) // a second time
			require.Nil(t, answer(a))
		}
	})
}

// Whoever releases learns whether a short hold was handed on: callers of a hot
// key then let others ask first, which keeps shares even.
//
// contract 4.4
func TestReleasedSaysWhetherTheLeaseWasPassed(t *testing.T) {
	for _, c := range []struct {
		hold   time.Duration
		waits  bool
		passed bool
	}{
		{0, true, true},
		{time.Second, true, false}, // nobody is so fast to come again
		{0, false, false},
	} {
		bubble(t, func(t *testing.T) {
			m := newManager(t, memstore.New())
			first := ask(m, "k", lockowner.Forever)
			h := granted(t, first)
			var next *lockowner.Acquire
			if c.waits {
				next = ask(m, "k", lockowner.Forever)
				require.Nil(t, answer(next))
			}
			time.Sleep(c.hold) // how long it is held, in virtual time
			release(m, h)
			ans := answer(first)
			require.IsType(t, &lockowner.Released{}, ans)
			require.Equal(t, c.passed, ans.(*lockowner.Released).Passed, "%+v", c)
			if c.waits {
				release(m, granted(t, next))
			}
		})
	}
}

// contract 2.5
// contract 2.7
func TestCancelMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManager(t, memstore.New())
		cancel := func(a *lockowner.Acquire) { m.System().Root.Send(m.Registry(), &lockowner.Cancel{Acquire: a}) }
		first, second, third := ask(m, "k", lockowner.Forever), ask(m, "k", lockowner.Forever), ask(m, "k", lockowner.Forever)
		h := granted(t, first)

		cancel(first)
		require.Nil(t, answer(first), "a grant that was given stays")
		require.NoError(t, h.Ended(time.Now()))

		cancel(second)
		cancel(second)
		no := answer(second)
		require.IsType(t, &lockowner.Refused{}, no)
		require.ErrorIs(t, no.(*lockowner.Refused).Err, lease.ErrHeld)
		require.Nil(t, answer(second), "one answer")

		release(m, h)
		require.IsType(t, &lockowner.Released{}, answer(first))
		release(m, granted(t, third))
		require.IsType(t, &lockowner.Released{}, answer(third))
		require.Nil(t, answer(second), "no grant for one who left")
	})
}

// contract 2.3
func TestRefusalWithoutAskingAtMessageLevel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		store := newSpy(inner)
		m := newManager(t, store)
		h := granted(t, ask(m, "k", 0))
		before := store.commands()
		require.IsType(t, &lockowner.Refused{}, answer(ask(m, "k", 0)))
		require.Equal(t, before, store.commands())
		release(m, h)
		synctest.Wait()
		require.Equal(t, before+1, store.commands(), "the release")
	})
}

// contract 2.5
func TestActorThatDiesLeavesTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManager(t, memstore.New())
		h := granted(t, ask(m, "k", lockowner.Forever))
		answers := 0
		root := m.System().Root
		mortal := root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started:
				c.Request(m.Registry(), &lockowner.Acquire{Key: "k", Ask: lockowner.Ask{TTL: time.Minute, Attempts: lockowner.Forever, Delay: time.Second}})
			case *lockowner.Granted, *lockowner.Refused:
				answers++
			}
		}))
		synctest.Wait()
		next := ask(m, "k", lockowner.Forever)
		require.Nil(t, answer(next))
		require.NoError(t, root.StopFuture(mortal).Wait())
		release(m, h)
		granted(t, next)
		require.Zero(t, answers)
	})
}

// contract 2.2
// contract 2.7
func TestRefusalWhileACommandHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hung := leasetest.NewFaulty(memstore.New())
		hung.On(leasetest.OpAcquire, leasetest.Always(leasetest.Fault{After: time.Hour}))
		m := newManager(t, hung)
		begin := time.Now()
		err := m.WithLock(t.Context(), "k", never(t), actorlock.Wait(time.Second), retryForever)
		require.Equal(t, time.Second, time.Since(begin), "the wait is bounded, whatever is in flight")
		require.ErrorIs(t, err, lease.ErrNoReply)
		require.NotErrorIs(t, err, actorlock.ErrHeld, "nothing was seen")
		pass(time.Hour) // the manager is shut down without a command in flight
	})
}
