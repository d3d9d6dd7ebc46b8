package tree

import (
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/actors/internal/agenda"
	"github.com/asynkron/protoactor-go/actor"
)

// Timer sends a message to an actor at a set time, or earlier: setting it to a
// later time changes nothing, so ticks of an earlier setting still arrive. The
// receiver looks at its own clock, not at the tick, and sets the timer again.
type Timer struct {
	agenda.Slot              // guarded by the clock
	due         atomic.Int64 // when a tick will come at the latest, by the clock's base; 0 for never
	clock       *Clock
	pid         *actor.PID
	msg         any
}

// NewTimer makes a timer, not yet set, that sends msg to pid, with a clock of
// its own: it waits for nobody else's ticks.
func NewTimer(system *actor.ActorSystem, pid *actor.PID, msg any) *Timer {
	return &Timer{clock: NewClock(system), pid: pid, msg: msg}
}

// On makes t, not yet set, a timer of k's that sends msg to pid.
func (t *Timer) On(k *Clock, pid *actor.PID, msg any) { t.clock, t.pid, t.msg = k, pid, msg }

// Set makes the timer fire at t at the latest; the zero time asks for nothing.
func (t *Timer) Set(at time.Time) {
	if at.IsZero() {
		return
	}
	k := t.clock
	// Nothing to do, most often, without the lock that all timers share: a tick
	// that is sent meanwhile makes the receiver set the timer again.
	due := k.since(at)
	if set := t.due.Load(); set != 0 && set <= due {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t.due.Store(due)
	k.timers.Set(t, at)
	k.wind()
}

// Stop keeps the timer from firing, until it is set again.
func (t *Timer) Stop() {
	k := t.clock
	k.mu.Lock()
	defer k.mu.Unlock()
	t.due.Store(0)
	if k.timers.Remove(t) {
		k.wind()
	}
}
