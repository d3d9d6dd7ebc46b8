package tree

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Timer sends a message to an actor at a set time. It is used from that
// actor's Receive only. Ticks of an earlier setting can still arrive: the
// receiver looks at the clock, not at the tick.
type Timer struct {
	timer *time.Timer
	at    time.Time
	fire  func()
}

// NewTimer makes a timer, not yet set, that sends msg to pid.
func NewTimer(system *actor.ActorSystem, pid *actor.PID, msg any) *Timer {
	return &Timer{fire: func() { system.Root.Send(pid, msg) }}
}

// Set makes the timer fire at t; the zero time clears it.
func (t *Timer) Set(at time.Time) {
	if at.Equal(t.at) {
		return
	}
	t.at = at
	switch {
	case at.IsZero():
		t.timer.Stop()
	case t.timer == nil:
		t.timer = time.AfterFunc(time.Until(at), t.fire)
	default:
		t.timer.Reset(time.Until(at))
	}
}

// Fired is called when a tick was received, so that the same time can be set
// again. It reports the time that had been set.
func (t *Timer) Fired() { t.at = time.Time{} }

// Stop ends the timer.
func (t *Timer) Stop() { t.Set(time.Time{}) }
