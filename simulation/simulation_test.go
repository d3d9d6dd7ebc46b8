package simulation

import (
	"flag"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run only this `seed`, with its trace")
	seeds   = flag.Int("seeds", 2000, "`number` of seeds to run")
	first   = flag.Uint64("first", 1, "the first `seed` to run")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// many is how many seeds are enough to meet everything that can happen.
const many = 1000

// An actor system is a costly thing to make: most plans share one, and only in
// every so many has each node its own, where its actors can be counted.
const own = 16

func TestSimulation(t *testing.T) {
	if *oneSeed > 0 {
		w := simulate(t, newPlan(*oneSeed), nil)
		t.Logf("%s", w.report())
		require.Empty(t, w.broken)
		return
	}
	var mu sync.Mutex
	total := newCounts()
	var next atomic.Uint64
	next.Store(*first)
	last := *first + uint64(*seeds)
	began := time.Now()
	t.Run("seeds", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				shared := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
					return slog.New(slog.DiscardHandler)
				}))
				for seed := next.Add(1) - 1; seed < last && !t.Failed(); seed = next.Add(1) - 1 {
					system := shared
					if seed%own == 0 {
						system = nil
					}
					w := simulate(t, newPlan(seed), system)
					if len(w.broken) > 0 {
						t.Errorf("%s", w.report())
					}
					mu.Lock()
					total.add(w.count)
					mu.Unlock()
				}
				require.Zero(t, actorsIn(shared), "actors are left")
			})
		}
	})
	took := time.Since(began)
	t.Logf("%d seeds, %v of simulated time in %v: %.0f s per second", *seeds, total.simulated.Round(time.Second), took.Round(time.Millisecond), total.simulated.Seconds()/took.Seconds())
	t.Logf("%s", &total)
	if *seeds >= many && !t.Failed() {
		require.Empty(t, total.missed(), "the run has not met")
	}
}

// simulate carries a plan out in virtual time.
func simulate(t *testing.T, p *plan, system *actor.ActorSystem) (w *world) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			// Most often goroutines that are left, which ends the process.
			fmt.Printf("seed %d: %s\nreplay: %s\n", p.seed, p, replay(p.seed))
			panic(r)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w = p.run(system)
		// A dead letter starts a goroutine of the actor framework.
		time.Sleep(time.Second)
	})
	return w
}
