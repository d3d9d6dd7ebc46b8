package tree

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// act is an actor made of a function.
type act func(c actor.Context)

func (a act) Receive(c actor.Context) { a(c) }

// failer is one that can go on after a panic.
type failer struct {
	act
	failed func(reason any)
}

func (f failer) Fail(_ actor.Context, reason any) { f.failed(reason) }

func system(t *testing.T) *actor.ActorSystem {
	s := NewSystem(quiet())
	// What is left of a dead letter's throttle ends by itself.
	t.Cleanup(func() { <-time.After(200 * time.Millisecond) })
	return s
}

func TestPanicOfAFailer(t *testing.T) {
	s, w := system(t), newWork(t)
	heard, reasons := make(chan any, 10), make(chan any, 10)
	pid := s.Root.Spawn(Props(w, func() actor.Actor {
		return failer{func(c actor.Context) {
			switch m := c.Message().(type) {
			case string:
				panic(m)
			case int:
				heard <- m
			}
		}, func(reason any) { reasons <- reason }}
	}))
	for i := range 3 { // all in the mailbox
		s.Root.Send(pid, "ouch")
		s.Root.Send(pid, i)
	}
	for i := range 3 {
		require.Equal(t, i, <-heard, "the mailbox is kept")
		require.Equal(t, "ouch", <-reasons)
	}
	require.NoError(t, s.Root.StopFuture(pid).Wait())
}

func TestPanicOfAnotherActorStopsIt(t *testing.T) {
	s, w := system(t), newWork(t)
	made, gone := 0, make(chan struct{})
	parent := s.Root.Spawn(Props(w, func() actor.Actor {
		return act(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started:
				child := c.Spawn(Props(w, func() actor.Actor {
					made++
					return act(func(c actor.Context) {
						if _, ok := c.Message().(string); ok {
							panic("ouch")
						}
					})
				}))
				c.Send(child, "go")
			case *actor.Terminated:
				close(gone)
			}
		})
	}))
	<-gone
	require.Equal(t, 1, made, "never restarted")
	require.NoError(t, s.Root.StopFuture(parent).Wait())
}

// A panic while an actor stops neither brings it back nor hangs whoever waits.
func TestPanicWhileStopping(t *testing.T) {
	for _, when := range []any{&actor.Stopping{}, &actor.Stopped{}} {
		for _, fails := range []bool{false, true} {
			s, w := system(t), newWork(t)
			body := act(func(c actor.Context) {
				switch c.Message().(type) {
				case *actor.Stopping:
					if _, ok := when.(*actor.Stopping); ok {
						panic("ouch")
					}
				case *actor.Stopped:
					if _, ok := when.(*actor.Stopped); ok {
						panic("ouch")
					}
				}
			})
			child := Props(w, func() actor.Actor {
				if fails {
					return failer{body, func(any) { t.Error("it is stopping: nothing to go on with") }}
				}
				return body
			})
			parent := s.Root.Spawn(Props(w, func() actor.Actor {
				return act(func(c actor.Context) {
					if _, ok := c.Message().(*actor.Started); ok {
						c.Spawn(child)
					}
				})
			}))
			require.NoError(t, s.Root.StopFuture(parent).Wait(), "%T", when)
			alone := s.Root.Spawn(child)
			require.NoError(t, s.Root.PoisonFuture(alone).Wait(), "%T", when)
		}
	}
}

func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := system(t), newWork(t)
		ticks := make(chan time.Time, 10)
		pid := s.Root.Spawn(Props(w, func() actor.Actor {
			return act(func(c actor.Context) {
				if _, ok := c.Message().(string); ok {
					ticks <- time.Now()
				}
			})
		}))
		timer := NewTimer(s, pid, "tick")
		timer.Stop() // before it was ever set
		begin := time.Now()
		at := begin.Add(time.Second)
		timer.Set(begin.Add(time.Hour))
		timer.Set(at)
		timer.Set(at) // no change
		require.Equal(t, at, <-ticks)
		time.Sleep(2 * time.Hour)
		require.Empty(t, ticks, "the earlier setting holds")
		timer.Set(at)
		<-ticks // in the past: at once
		timer.Set(time.Now().Add(time.Second))
		timer.Set(time.Time{})
		timer.Set(time.Now().Add(2 * time.Second))
		timer.Stop()
		time.Sleep(time.Minute)
		require.Empty(t, ticks)
		require.NoError(t, s.Root.StopFuture(pid).Wait())
	})
}

// hour is a tick that its receiver handles in the clock's goroutine.
type hour struct{ Quiet }

func (hour) Direct() bool { return true }

func TestClockTellsManyActors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := system(t), newWork(t)
		k := NewClock(s)
		const actors = 1000
		timers := make([]Timer, actors)
		pids := make([]*actor.PID, actors)
		begin := time.Now()
		ticks := make(chan time.Duration, 3*actors)
		for i := range actors {
			timer := &timers[i]
			pids[i] = s.Root.Spawn(Props(w, func() actor.Actor {
				return act(func(c actor.Context) {
					if _, ok := c.Message().(hour); ok {
						ticks <- time.Since(begin)
						if time.Since(begin) == time.Second {
							timer.Set(begin.Add(time.Minute)) // from within the tick
						}
					}
				})
			}))
			timer.On(k, pids[i], hour{})
			timer.Set(begin.Add(time.Second))
		}
		timers[0].Stop()
		for range actors - 1 {
			require.Equal(t, time.Second, <-ticks)
		}
		synctest.Wait()
		require.Empty(t, ticks, "the one that was stopped")
		timers[0].Set(begin.Add(2 * time.Second)) // earlier than all the others
		require.Equal(t, 2*time.Second, <-ticks)
		for range actors - 1 {
			require.Equal(t, time.Minute, <-ticks)
		}
		for _, pid := range pids {
			require.NoError(t, s.Root.StopFuture(pid).Wait())
		}
	})
}
