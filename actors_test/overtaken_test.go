package actors_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// slowWord is an actor system in which the word of an attempt's outcome takes a
// second: to arrive, or for its sender to go on.
func slowWord(arrive bool) *actor.ActorSystem {
	system := actor.NewActorSystem()
	system.Root = actor.NewRootContext(system, nil, func(next actor.SenderFunc) actor.SenderFunc {
		return func(c actor.SenderContext, to *actor.PID, env *actor.MessageEnvelope) {
			switch {
			case fmt.Sprintf("%T", env.Message) != "*lockowner.tried":
				next(c, to, env)
			case arrive:
				time.AfterFunc(time.Second, func() { next(c, to, env) })
			default:
				next(c, to, env)
				<-time.After(time.Second)
			}
		}
	})
	return system
}

// contract 8.1: a Shutdown that does not wait ends the context of a callback too
// whose owner has not heard yet that it runs.
func TestShutdownOvertakesTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := startManager(t, actorlock.Config{Store: memstore.New(), System: slowWord(true)})
		h := hold(t, m, "k")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = m.Shutdown(ctx)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(h.ctx), actorlock.ErrShutdown)
		require.ErrorIs(t, <-h.end, actorlock.ErrShutdown)
		close(h.free)
	})
}

// contract 5.2: a lock that is lost before its callback has begun is not left to
// stand for its TTL: nothing will run under it.
func TestLostBeforeTheCallbackBegan(t *testing.T) {
	for name, opts := range map[string][]actorlock.Option{"": nil, "await": {actorlock.AwaitCallback()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				m := startManager(t, actorlock.Config{Store: mem, System: slowWord(false)})
				err := m.WithLock(t.Context(), "k", never(t), append(opts, actorlock.MaxHold(1))...)
				require.ErrorIs(t, err, actorlock.ErrHeldTooLong)
				refused(t, err)
				pass(2 * time.Second)
				require.Zero(t, mem.Len())
			})
		})
	}
}
