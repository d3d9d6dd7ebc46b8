package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/actors/renewer"
	"github.com/actorlock/actorlock/internal/warm"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

// rig is a registry under a parent that notes what it is told.
type rig struct {
	t           *testing.T
	system      *actor.ActorSystem
	store       lease.Store
	pid         *actor.PID
	surrendered chan *lockowner.Surrendered
	closed      chan *Closed
}

func newRig(t *testing.T, spare int, store lease.Store) *rig {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	pool := warm.New(32)
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{
		t: t, system: tree.NewSystem(log), store: store,
		surrendered: make(chan *lockowner.Surrendered, 100), closed: make(chan *Closed, 2),
	}
	cfg := &lockowner.Config{
		System: r.system, Store: store, Node: "node", Origin: lease.NewID(), Log: log,
		Work: tree.NewWork(log, pool), Clock: tree.NewClock(r.system), Context: ctx,
	}
	ready := make(chan *actor.PID, 1)
	parent := r.system.Root.Spawn(tree.Props(cfg.Work, func() actor.Actor {
		return receive(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Started:
				cfg.Renewer = c.Spawn(renewer.Props(renewer.Config{System: r.system, Store: store, Log: log, Work: cfg.Work}))
				ready <- c.Spawn(Props(Config{Owners: cfg, Spare: spare}))
			case *lockowner.Surrendered:
				r.surrendered <- m
			case *Closed:
				r.closed <- m
			}
		})
	}))
	r.pid = <-ready
	t.Cleanup(func() {
		require.NoError(t, r.system.Root.StopFuture(parent).Wait())
		require.NoError(t, cfg.Work.Wait(context.Background()))
		cancel()
		pool.Close()
		<-time.After(200 * time.Millisecond) // the throttle of dead letters
	})
	return r
}

type receive func(c actor.Context)

func (f receive) Receive(c actor.Context) { f(c) }

var ask = lockowner.Ask{TTL: time.Minute, Attempts: lockowner.Forever, Delay: time.Second, HandOver: true, Fencing: true}

// acquire sends an Acquire and returns its answers.
func (r *rig) acquire(key string) chan any {
	reply := make(chan any, 3)
	r.system.Root.Send(r.pid, &lockowner.Acquire{Key: key, Ask: ask, Reply: reply})
	return reply
}

func (r *rig) release(h *lockowner.Hold) {
	r.system.Root.Send(h.Owner(), &lockowner.Release{Hold: h})
}

// cycle acquires and releases key, and reports what went wrong.
func (r *rig) cycle(key string, inside func()) error {
	reply := r.acquire(key)
	g, ok := next(reply).(*lockowner.Granted)
	if !ok {
		return errors.New("not granted")
	}
	inside()
	r.release(g.Hold)
	if _, ok := next(reply).(*lockowner.Released); !ok {
		return errors.New("not released")
	}
	return nil
}

// next is the next answer, nil when none comes.
func next(reply chan any) any {
	select {
	case m := <-reply:
		return m
	case <-limit:
		return nil
	}
}

// limit is when answers are no longer waited for.
var limit = time.After(2 * time.Minute)

// actors counts what lives in the system.
func (r *rig) actors() int {
	n := 0
	for _, pids := range r.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		n += pids.Count()
	}
	return n
}

// An owner that retires loses no message: those that were sent count.
func TestNoRequestIsLost(t *testing.T) {
	for _, spare := range []int{0, 2, 100} {
		r := newRig(t, spare, memstore.New())
		var inside [8]atomic.Int32
		for range 3 {
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					for n := range 30 {
						k := (i + n) % len(inside)
						err := r.cycle(fmt.Sprint("k", k), func() {
							if inside[k].Add(1) != 1 {
								t.Error("two holders")
							}
							inside[k].Add(-1)
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
		}
	}
}

// Cancelled and inspecting requests count as well.
func TestNoCancelOrInspectIsLost(t *testing.T) {
	r := newRig(t, 1, memstore.New())
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 50 {
				key := fmt.Sprint("k", i%4)
				a := &lockowner.Acquire{Key: key, Ask: ask, Reply: make(chan any, 3)}
				r.system.Root.Send(r.pid, a)
				r.system.Root.Send(r.pid, &lockowner.Cancel{Acquire: a})
				info := make(chan *lockowner.Inspected, 1)
				r.system.Root.Send(r.pid, &lockowner.Inspect{Key: key, Reply: info})
				switch m := next(a.Reply).(type) {
				case *lockowner.Granted:
					r.release(m.Hold)
				case *lockowner.Refused:
				default:
					t.Errorf("%T", m)
				}
				select {
				case <-info:
				case <-limit:
					t.Error("no answer to Inspect")
				}
			}
		})
	}
	wg.Wait()
}

// contract 4.5: idle owners are kept for reuse, a bounded number.
func TestSparesAreBounded(t *testing.T) {
	r := newRig(t, 5, memstore.New())
	before := r.actors()
	var all []chan any
	var holds []*lockowner.Hold
	for i := range 50 {
		reply := r.acquire(fmt.Sprint("k", i))
		holds = append(holds, next(reply).(*lockowner.Granted).Hold)
		all = append(all, reply)
	}
	require.Equal(t, before+50, r.actors())
	for i, h := range holds {
		r.release(h)
		require.IsType(t, &lockowner.Released{}, next(all[i]))
	}
	require.Eventually(t, func() bool { return r.actors() == before+5 }, 20*time.Second, time.Millisecond)
	for i := range 50 { // one after the other, by those that are there
		require.NoError(t, r.cycle(fmt.Sprint("again", i), func() {}))
	}
	require.Eventually(t, func() bool { return r.actors() <= before+5 }, 20*time.Second, time.Millisecond)
}

// contract 4.5: 100,000 keys, each locked once, leave nothing. What the
// framework keeps of the busiest moment does not grow with the keys. (20,000
// with the race detector.)
func TestManyKeysLeaveNothing(t *testing.T) {
	const rounds, workers = 5, 8
	each := 2_500
	if raced {
		each = 500
	}
	r := newRig(t, 128, memstore.New())
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	actors, goroutines := r.actors(), runtime.NumGoroutine()
	settled := func() bool { return runtime.NumGoroutine() <= goroutines+4 && r.actors() <= actors+128 }
	var first uint64
	for round := range rounds {
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range each {
					key := fmt.Sprintf("some long key of worker %d, number %d in round %d", w, i, round)
					if err := r.cycle(key, func() {}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		require.Eventually(t, settled, 20*time.Second, 10*time.Millisecond)
		if round == 0 {
			first = heap()
		}
	}
	require.Less(t, heap(), first+10<<20)
}

// contract 8.1: Close hands over what is held and refuses what waits, at once.
func TestClose(t *testing.T) {
	store := memstore.New()
	r := newRig(t, 5, store)
	require.NoError(t, r.cycle("idle", func() {}))
	held, waits := r.acquire("held"), make(chan any)
	hold := next(held).(*lockowner.Granted).Hold
	waits = r.acquire("held")
	r.system.Root.Send(r.pid, &Close{})
	require.ErrorIs(t, next(waits).(*lockowner.Refused).Err, lease.ErrShutdown)
	require.ErrorIs(t, next(held).(*lockowner.Lost).Err, lease.ErrShutdown)
	key, value := hold.Value()
	s := <-r.surrendered
	for s.Value == "" {
		s = <-r.surrendered // of the other, if it was not idle yet
	}
	require.Equal(t, []string{"held", key, value}, []string{s.Key, s.StoreKey, s.Value})
	require.Empty(t, (<-r.closed).Open)
	require.ErrorIs(t, next(r.acquire("k")).(*lockowner.Refused).Err, lease.ErrShutdown)
}

// contract 8.3: Drain refuses whoever waits without a live lease.
func TestDrain(t *testing.T) {
	r := newRig(t, 5, memstore.New())
	held := r.acquire("held")
	hold := next(held).(*lockowner.Granted).Hold
	waits := r.acquire("held")
	r.system.Root.Send(r.pid, &Drain{})
	require.ErrorIs(t, next(waits).(*lockowner.Refused).Err, lease.ErrShutdown)
	require.ErrorIs(t, next(r.acquire("k")).(*lockowner.Refused).Err, lease.ErrShutdown)
	ctx := hold.Bind(context.Background())
	for _, key := range []string{"k", "held"} {
		reply := make(chan any, 3)
		r.system.Root.Send(r.pid, &lockowner.Acquire{Key: key, Ask: ask, Reply: reply, Lineage: lockowner.LineageOf(ctx)})
		g := next(reply).(*lockowner.Granted)
		require.Equal(t, key == "held", g.Shared)
		if !g.Shared {
			r.release(g.Hold)
			require.IsType(t, &lockowner.Released{}, next(reply))
		}
	}
	require.NoError(t, ctx.Err())
	r.release(hold)
	require.IsType(t, &lockowner.Released{}, next(held))
}
