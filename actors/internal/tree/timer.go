package tree

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Timer sends a message to an actor at a set time, or earlier: setting it to a
// later time costs nothing, so ticks of an earlier setting still arrive. The
// receiver looks at the clock, not at the tick, and sets the timer again. It is
// used from that actor's Receive only.
type Timer struct {
	timer *time.Timer
	armed time.Time // when it will fire, zero for never
	fire  func()
}

// NewTimer makes a timer, not yet set, that sends msg to pid.
func NewTimer(system *actor.ActorSystem, pid *actor.PID, msg any) *Timer {
	return &Timer{fire: func() { system.Root.Send(pid, msg) }}
}

// Set makes the timer fire at t at the latest; the zero time asks for nothing.
func (t *Timer) Set(at time.Time) {
	if at.IsZero() || (!t.armed.IsZero() && !at.Before(t.armed)) {
		return
	}
	t.armed = at
	if t.timer == nil {
		t.timer = time.AfterFunc(time.Until(at), t.fire)
		return
	}
	t.timer.Reset(time.Until(at))
}

// Fired is called when a tick was received.
func (t *Timer) Fired() { t.armed = time.Time{} }

// Stop ends the timer and frees what it takes. It can be set again.
func (t *Timer) Stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
	t.timer, t.armed = nil, time.Time{}
}
