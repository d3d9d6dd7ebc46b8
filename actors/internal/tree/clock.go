package tree

import (
	"sync"
	"time"

	"github.com/actorlock/actorlock/actors/internal/agenda"
	"github.com/asynkron/protoactor-go/actor"
)

// Clock tells many actors the time with one runtime timer, whose goroutine
// handles their ticks one after the other if these are Direct: thousands that
// are due at the same time take no goroutine each. It is safe for concurrent use.
type Clock struct {
	system *actor.ActorSystem
	base   time.Time
	mu     sync.Mutex
	timers agenda.Agenda[*Timer]
	alarm  *time.Timer
	at     time.Time // when the alarm rings, zero for never
}

// NewClock makes a clock on which nothing is set.
func NewClock(system *actor.ActorSystem) *Clock { return &Clock{system: system, base: time.Now()} }

// since is at as a number, never 0.
func (k *Clock) since(at time.Time) int64 { return max(int64(at.Sub(k.base)), 1) }

// wind sets the alarm to the first time that is due.
func (k *Clock) wind() {
	due := k.timers.Due()
	switch {
	case due.IsZero():
		if !k.at.IsZero() {
			k.alarm.Stop()
		}
		k.at = due
	case k.at.IsZero() || due.Before(k.at):
		k.at = due
		if k.alarm == nil {
			k.alarm = time.AfterFunc(time.Until(due), k.ring)
			return
		}
		k.alarm.Reset(time.Until(due))
	}
}

// ring sends the ticks that are due.
func (k *Clock) ring() {
	for _, t := range k.due(time.Now()) {
		k.system.Root.Send(t.pid, t.msg)
	}
}

func (k *Clock) due(now time.Time) (due []*Timer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = time.Time{}
	for t := k.timers.First(); t != nil && !k.timers.Due().After(now); t = k.timers.First() {
		k.timers.Remove(t)
		t.due.Store(0)
		due = append(due, t)
	}
	k.wind()
	return due
}
