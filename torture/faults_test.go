package torture

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// fault is something that befalls one worker, or the server. It is over when it
// returns; hurt is how long it may hurt.
type fault struct {
	name  string
	worst float64 // of its duration, in TTLs
	hurt  func(r *round, w *worker, d time.Duration)
}

// step is a fault in a schedule.
type step struct {
	fault
	pause    time.Duration // before
	duration time.Duration
	worker   int
}

func (s step) String() string {
	return fmt.Sprintf("%v: %s, worker %d, %v", s.pause, s.name, s.worker, s.duration)
}

// schedule fills a round with faults.
func schedule(rng *rand.Rand, from []fault, ttl time.Duration) (steps []step) {
	for at := time.Duration(0); ; {
		f := from[rng.IntN(len(from))]
		s := step{
			fault: f, worker: rng.IntN(3), pause: time.Duration(rng.IntN(300)) * time.Millisecond,
			duration: time.Duration(rng.Float64() * f.worst * float64(ttl)).Round(time.Millisecond),
		}
		if at += s.pause + s.duration; at > roundLength {
			return steps
		}
		steps = append(steps, s)
	}
}

// torture runs two schedules beside each other, one of faults of workers and
// their links, one of the server's.
func (r *round) torture() {
	rng := rand.New(rand.NewPCG(r.seed, 1))
	ofWorkers, ofServer := gentleOnWorkers, gentleOnServer
	if r.cruel {
		ofWorkers, ofServer = briefOnWorkers, cruelOnServer
	}
	r.story = fmt.Sprintf("seed %d, cruel %v, TTL %v, %d keys", r.seed, r.cruel, r.ttl, len(r.keys))
	r.sum.faults = map[string]int{}
	var both sync.WaitGroup
	for _, faults := range [][]fault{ofWorkers, ofServer} {
		steps := schedule(rng, faults, r.ttl)
		r.story += "\nbeside each other:"
		for _, s := range steps {
			r.story += "\n\t" + s.String()
		}
		both.Go(func() { r.play(steps) })
	}
	both.Wait()
}

func (r *round) play(steps []step) {
	for _, s := range steps {
		time.Sleep(s.pause)
		s.hurt(r, r.workers[s.worker], s.duration)
		r.mu.Lock()
		r.sum.faults[s.name]++
		r.mu.Unlock()
	}
}
