package actors_test

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
)

// sending is an actor system in which how decides when a message is sent that
// comes from outside of an actor, by calling send.
func sending(how func(msg any, send func())) *actor.ActorSystem {
	system := actor.NewActorSystem()
	system.Root = actor.NewRootContext(system, nil, func(next actor.SenderFunc) actor.SenderFunc {
		return func(c actor.SenderContext, to *actor.PID, env *actor.MessageEnvelope) {
			how(env.Message, func() { next(c, to, env) })
		}
	})
	return system
}

// isOutcome says whether msg tells an owner what has become of an attempt.
func isOutcome(msg any) bool { return fmt.Sprintf("%T", msg) == "*lockowner.tried" }
