package torture

import (
	"sync/atomic"
	"testing"
	"time"
)

// stalls measures how long this machine keeps a goroutine that is due from
// running: what nobody can do anything about is not the lock's fault.
type stalls struct{ worst atomic.Int64 }

func (s *stalls) longest() time.Duration { return time.Duration(s.worst.Load()) }

func watchStalls(t *testing.T) *stalls {
	s := new(stalls)
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-done })
	go func() {
		defer close(done)
		const period = time.Millisecond
		tick := time.NewTimer(period)
		defer tick.Stop()
		for {
			due := time.Now().Add(period)
			tick.Reset(period)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if late := int64(time.Since(due)); late > s.worst.Load() {
				s.worst.Store(late)
			}
		}
	}()
	return s
}
