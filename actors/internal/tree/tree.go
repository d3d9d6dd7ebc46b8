// Package tree is the thin wrap around protoactor-go: how actors of this
// project are made, fail, keep time and do input and output. What the framework
// gets wrong is worked around here and nowhere else.
package tree

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// NewSystem makes an actor system that logs to log and leaves no goroutine of
// its own behind once its actors have stopped.
func NewSystem(log *slog.Logger) *actor.ActorSystem {
	return actor.NewActorSystem(
		actor.WithDeadLetterThrottleInterval(50*time.Millisecond),
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(warnings{log.Handler()}) }),
	)
}

// warnings passes on what the framework says of failures, not its small talk.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

// Quiet is embedded in messages: one that arrives after its receiver has
// stopped is normal here and not worth a line in the log.
type Quiet struct{}

// IgnoreDeadLetterLogging implements the framework's marker interface.
func (Quiet) IgnoreDeadLetterLogging() {}

// Failer is an actor that can go on after a panic: Fail answers whoever waits
// for it, lets go of what it holds and leaves it as if newly made.
type Failer interface {
	actor.Actor
	Fail(c actor.Context, reason any)
}

// Props makes the props of an actor. A panic in it is logged with its stack;
// a Failer then recovers in place, keeping its mailbox, anything else is
// stopped, never restarted: its state would be lost behind its parent's back.
//
// Actors run in w's goroutines.
func Props(w *Work, make func() actor.Actor) *actor.Props {
	stop := func(any) actor.Directive { return actor.StopDirective }
	return actor.PropsFromProducer(
		func() actor.Actor { return &safe{actor: make(), log: w.log} },
		actor.WithMailbox(newMailbox(w.pool)),
		actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, stop)),
	)
}

type safe struct {
	actor actor.Actor
	log   *slog.Logger
}

func (s *safe) Receive(c actor.Context) {
	defer s.recover(c)
	s.actor.Receive(c)
}

func (s *safe) recover(c actor.Context) {
	reason := recover()
	if reason == nil {
		return
	}
	s.log.Error("actorlock: panic in an actor", "actor", c.Self().Id, "panic", reason, "stack", string(debug.Stack()))
	switch c.Message().(type) {
	case *actor.Stopping, *actor.Stopped:
		return // a panic here would bring the actor back, or hang its parent
	}
	f, ok := s.actor.(Failer)
	if !ok {
		panic(reason)
	}
	f.Fail(c, reason)
}
