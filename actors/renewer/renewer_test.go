package renewer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/actors/internal/tree"
	"github.com/actorlock/actorlock/internal/warm"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// batches notes how extensions are sent.
type batches struct {
	*leasetest.Faulty
	mu    sync.Mutex
	sizes []int
	at    []time.Time
}

// sent is the size of each batch so far, and when the first was sent.
func (b *batches) sent() (sizes []int, first time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.at) > 0 {
		first = b.at[0]
	}
	return slices.Clone(b.sizes), first
}

func (b *batches) Extend(ctx context.Context, batch []lease.Extension, report func(int, error)) {
	b.mu.Lock()
	b.sizes, b.at = append(b.sizes, len(batch)), append(b.at, time.Now())
	b.mu.Unlock()
	b.Faulty.Extend(ctx, batch, report)
}

// rig is a renewer with an actor that stands for all lock owners.
type rig struct {
	t      *testing.T
	system *actor.ActorSystem
	mem    *memstore.Store
	store  *batches
	pid    *actor.PID
	owner  *actor.PID
	lost   chan *Lost
}

func inBubble(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		pool := warm.New(8)
		work := tree.NewWork(log, pool)
		mem := memstore.New()
		r := &rig{
			t: t, system: tree.NewSystem(log), mem: mem, lost: make(chan *Lost, 1000),
			store: &batches{Faulty: leasetest.NewFaulty(mem)},
		}
		r.owner = r.system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if m, ok := c.Message().(*Lost); ok {
				r.lost <- m
			}
		}))
		r.pid = r.system.Root.Spawn(Props(Config{System: r.system, Store: r.store, Log: log, Work: work}))
		fn(t, r)
		require.NoError(t, r.system.Root.StopFuture(r.pid).Wait())
		require.NoError(t, r.system.Root.StopFuture(r.owner).Wait())
		require.NoError(t, work.Wait(t.Context()))
		pool.Close()
		time.Sleep(time.Second)
	})
}

// track takes a lease and has it renewed.
func (r *rig) track(key string, ttl time.Duration, policy lease.Policy) *Renewal {
	r.t.Helper()
	value := lease.NewValue("node")
	at, err := r.mem.Acquire(r.t.Context(), lease.Acquisition{Key: key, Value: value, TTL: ttl})
	require.NoError(r.t, err)
	require.True(r.t, at.Acquired)
	l := &Renewal{Key: key, Value: value, TTL: ttl, Policy: policy, Term: lease.NewTerm(time.Now(), ttl), Owner: r.owner}
	r.system.Root.Send(r.pid, &Track{Renewal: l})
	return l
}

// contract 3.1, 3.5: leases of one time go into as few batches as their size
// allows, again and again.
func TestBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		const ttl, n = 30 * time.Second, 600
		for i := range n {
			r.track(fmt.Sprint("k", i), ttl, lease.LoseAtOnce)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(5 * ttl)
		sizes, _ := r.store.sent()
		for _, size := range sizes {
			require.LessOrEqual(t, size, batchSize)
		}
		periods := int(5*ttl/(ttl/4)) + 1
		require.LessOrEqual(t, len(sizes), periods*4)
		require.Equal(t, n, r.mem.Len())
		require.Empty(t, r.lost)
	})
}

// Leases that are due soon are extended with the one that is due now.
func TestBatchesGatherWhatIsNearlyDue(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		const ttl = 12 * time.Second // early: 1 s
		begin := time.Now()
		r.track("a", ttl, lease.LoseAtOnce)
		time.Sleep(900 * time.Millisecond)
		r.track("b", ttl, lease.LoseAtOnce)
		time.Sleep(500 * time.Millisecond)
		r.track("c", ttl, lease.LoseAtOnce)
		time.Sleep(3 * time.Second)
		sizes, first := r.store.sent()
		require.Equal(t, []int{2}, sizes)
		require.Equal(t, ttl/3, first.Sub(begin))
	})
}

// contract 5.1, 5.2: what the owner is told, and when.
func TestVerdicts(t *testing.T) {
	const ttl = 12 * time.Second
	deadline := ttl - lease.Margin(ttl)
	for name, tt := range map[string]struct {
		policy lease.Policy
		hook   leasetest.Hook
		spoil  func(m *memstore.Store)
		err    error
		after  time.Duration // 0: not lost
	}{
		"renewed":            {},
		"gone":               {spoil: func(m *memstore.Store) { m.Delete("k") }, err: lease.ErrLeaseGone, after: ttl / 3},
		"taken":              {spoil: func(m *memstore.Store) { m.Steal("k", "x", ttl) }, err: lease.ErrLeaseTaken, after: ttl / 3},
		"gone, patiently":    {policy: lease.RetryUntilDeadline, spoil: func(m *memstore.Store) { m.Delete("k") }, err: lease.ErrLeaseGone, after: ttl / 3},
		"failed":             {hook: leasetest.Always(leasetest.Fault{Err: io.EOF}), err: io.EOF, after: ttl / 3},
		"panicked":           {hook: leasetest.Always(leasetest.Fault{Panic: "x"}), after: ttl / 3},
		"failed, patiently":  {policy: lease.RetryUntilDeadline, hook: leasetest.Always(leasetest.Fault{Err: io.EOF}), err: lease.ErrLeaseExpired, after: deadline},
		"failed for a while": {policy: lease.RetryUntilDeadline, hook: leasetest.Times(3, leasetest.Fault{Err: io.EOF})},
		"hung":               {hook: leasetest.Always(leasetest.Fault{Hang: true}), err: lease.ErrLeaseExpired, after: deadline},
		"hung, patiently":    {policy: lease.RetryUntilDeadline, hook: leasetest.Always(leasetest.Fault{Hang: true}), err: lease.ErrLeaseExpired, after: deadline},
		"hung once":          {policy: lease.RetryUntilDeadline, hook: leasetest.Times(1, leasetest.Fault{Hang: true})},
		"slow":               {hook: leasetest.Always(leasetest.Fault{Before: ttl / 12, After: ttl / 12})},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				begin := time.Now()
				r.store.On(leasetest.OpExtend, tt.hook)
				l := r.track("k", ttl, tt.policy)
				if tt.spoil != nil {
					tt.spoil(r.mem)
				}
				if tt.after == 0 {
					time.Sleep(5 * ttl)
					require.Empty(t, r.lost)
					require.False(t, l.Term.Expired(time.Now()))
					return
				}
				m := <-r.lost
				require.InDelta(t, tt.after, time.Since(begin), float64(time.Millisecond))
				require.Same(t, l, m.Renewal)
				require.Error(t, m.Err)
				if tt.err != nil {
					require.ErrorIs(t, m.Err, tt.err)
				}
				r.store.On(leasetest.OpExtend, nil)
				time.Sleep(5 * ttl)
				require.Empty(t, r.lost, "told once")
				calls := r.store.Calls(leasetest.OpExtend)
				time.Sleep(5 * ttl)
				require.Equal(t, calls, r.store.Calls(leasetest.OpExtend), "no longer tracked")
			})
		})
	}
}

// One lease of a batch that fails or hangs does not harm the others.
func TestVerdictsAreEachLeasesOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.store.On(leasetest.OpExtend, func(_ context.Context, key string) leasetest.Fault {
			switch key {
			case "k3":
				return leasetest.Fault{Err: io.EOF}
			case "k5":
				return leasetest.Fault{Hang: true}
			}
			return leasetest.Fault{}
		})
		for i := range 10 {
			r.track(fmt.Sprint("k", i), 3*time.Second, lease.RetryUntilDeadline)
		}
		time.Sleep(20 * time.Second)
		var lost []string
		for len(r.lost) > 0 {
			m := <-r.lost
			lost = append(lost, m.Key)
			require.ErrorIs(t, m.Err, lease.ErrLeaseExpired)
		}
		slices.Sort(lost)
		require.Equal(t, []string{"k3", "k5"}, lost)
	})
}

// What is untracked or halted is left alone, whatever is in flight.
func TestUntrack(t *testing.T) {
	for _, flying := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			const ttl = 12 * time.Second
			r.store.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Before: time.Second, Err: io.EOF}))
			l := r.track("k", ttl, lease.LoseAtOnce)
			time.Sleep(time.Second)
			if flying {
				time.Sleep(ttl/3 - time.Second/2)
			}
			require.Equal(t, !flying, l.Halt())
			r.system.Root.Send(r.pid, &Untrack{Renewal: l})
			r.system.Root.Send(r.pid, &Untrack{Renewal: l}) // again
			time.Sleep(5 * ttl)
			require.Empty(t, r.lost)
			require.Equal(t, flying, r.store.Calls(leasetest.OpExtend) == 1)
			require.Equal(t, !flying, l.Halt(), "what it did was never known")
		})
	}
}

// contract 8.4: extensions in flight end with the renewer.
func TestStopCancelsExtensions(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.store.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{Hang: true}))
		r.track("k", time.Hour, lease.LoseAtOnce)
		time.Sleep(30 * time.Minute)
		begin := time.Now()
		require.NoError(t, r.system.Root.StopFuture(r.pid).Wait())
		require.Less(t, time.Since(begin), time.Second)
	})
}

// contract 8.4: a renewer that is stopped with leases in its hands leaves no
// timer behind.
func TestStoppedWithLeases(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.track("k", 30*time.Second, lease.LoseAtOnce)
		synctest.Wait()
		ticks := make(chan *actor.DeadLetterEvent, 10)
		r.system.EventStream.Subscribe(func(e any) {
			if dead, ok := e.(*actor.DeadLetterEvent); ok && dead.PID.Equal(r.pid) {
				ticks <- dead
			}
		})
		require.NoError(t, r.system.Root.StopFuture(r.pid).Wait())
		time.Sleep(time.Minute)
		require.Empty(t, ticks)
	})
}

// contract 3.1, 3.5: a batch in which one lease gets no answer holds up none of
// the others: they are extended in time, again and again.
func TestOneOfBatchHangs(t *testing.T) {
	for _, policy := range []lease.Policy{lease.LoseAtOnce, lease.RetryUntilDeadline} {
		inBubble(t, func(t *testing.T, r *rig) {
			hung := r.track("hung", time.Minute, lease.LoseAtOnce)
			good := r.track("good", time.Second, policy)
			r.store.On(leasetest.OpExtend, func(_ context.Context, key string) leasetest.Fault {
				return leasetest.Fault{Hang: key == "hung"}
			})
			for range 900 {
				time.Sleep(100 * time.Millisecond)
				st, err := r.mem.Inspect(t.Context(), "good")
				require.NoError(t, err)
				require.GreaterOrEqual(t, st.TTL, good.TTL/2)
			}
			require.Len(t, r.lost, 1)
			require.Equal(t, hung, (<-r.lost).Renewal)
		})
	}
}
