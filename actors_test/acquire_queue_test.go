package actors_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// order notes who runs, and that nobody runs beside another.
type order struct {
	mu  sync.Mutex
	ran []int
	in  int
}

// enter is the callback of call i.
func (o *order) enter(t *testing.T, i int) func(context.Context) error {
	return func(context.Context) error {
		o.mu.Lock()
		o.ran = append(o.ran, i)
		o.in++
		if o.in > 1 {
			t.Error("two holders at a time")
		}
		o.mu.Unlock()
		<-time.After(time.Millisecond)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.in--
		return nil
	}
}

// contract 2.5
func TestQueueIsInOrderOfArrival(t *testing.T) {
	for name, opts := range map[string][]actorlock.Option{
		"handed over": nil,
		"by release":  {actorlock.HandOver(false)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := newManager(t, memstore.New(), opts...)
				h := hold(t, m, "k")
				var o order
				var want []int
				var calls []*call
				for i := range 30 {
					want = append(want, i)
					calls = append(calls, start(m, "k", o.enter(t, i), retryForever))
					synctest.Wait()
				}
				require.NoError(t, h.let())
				for _, c := range calls {
					require.NoError(t, c.wait())
				}
				require.Equal(t, want, o.ran)
			})
		})
	}
}

// contract 2.5
func TestWaitersLeaveTheQueueAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManager(t, memstore.New())
		h := hold(t, m, "k")
		var o order
		var calls []*call
		for i := range 10 {
			calls = append(calls, start(m, "k", o.enter(t, i), retryForever))
			synctest.Wait()
		}
		for _, i := range []int{4, 0, 9, 5} { // in the middle, the head, the tail
			calls[i].cancel(nil)
			synctest.Wait()
			require.True(t, calls[i].settled())
			require.ErrorIs(t, calls[i].err, context.Canceled)
		}
		info, err := m.Inspect(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, 6, info.Waiters)
		require.NoError(t, h.let())
		for i, c := range calls {
			if !slices.Contains([]int{4, 0, 9, 5}, i) {
				require.NoError(t, c.wait())
			}
		}
		require.Equal(t, []int{1, 2, 3, 6, 7, 8}, o.ran)
	})
}

// contract 2.5
func TestEachWaiterHasItsOwnBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		store := newSpy(deaf{inner})
		m := newManager(t, store)
		type limits struct {
			attempts int
			delay    time.Duration
			most     time.Duration
		}
		all := []limits{
			{3, time.Second, 3 * time.Second},
			{10, 200 * time.Millisecond, 2 * time.Second},
			{1, 5 * time.Second, 5 * time.Second},
			{100, 10 * time.Millisecond, time.Second},
		}
		var calls []*call
		for _, l := range all {
			calls = append(calls, start(m, "k", never(t), actorlock.RetryAttempts(l.attempts), actorlock.RetryDelay(l.delay)))
			pass(33 * time.Millisecond)
		}
		for i, c := range calls {
			require.ErrorIs(t, c.wait(), actorlock.ErrHeld)
			require.Equal(t, all[i].attempts+1, refused(t, c.err).Attempts)
			require.LessOrEqual(t, c.took, all[i].most)
			require.GreaterOrEqual(t, c.took, all[i].most*9/10)
		}
	})
}

// contract 2.5
func TestManyWaitersCostNoMoreThanOne(t *testing.T) {
	count := func(t *testing.T, n int) (commands int) {
		bubble(t, func(t *testing.T) {
			inner := memstore.New()
			foreign(inner, "k", lease.NoExpiry)
			store := newSpy(deaf{inner})
			m := newManager(t, store)
			var calls []*call
			for i := range n {
				calls = append(calls, start(m, "k", never(t), retryForever))
				if i%10 == 0 {
					pass(7 * time.Millisecond)
				}
			}
			pass(20 * time.Second)
			for _, c := range calls {
				c.cancel(nil)
				require.ErrorIs(t, c.wait(), context.Canceled)
			}
			commands = len(store.attempts())
		})
		return commands
	}
	one, many := count(t, 1), count(t, 200)
	require.GreaterOrEqual(t, one, 95)
	require.LessOrEqual(t, many, one*12/10, "one waiter costs %d attempts", one)
}

// contract 2.5
func TestOwnerAsksAtTheEarliestDueTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		foreign(inner, "k", lease.NoExpiry)
		m := newManager(t, deaf{inner})
		slow := start(m, "k", nothing, retryForever, actorlock.RetryDelay(time.Hour))
		pass(time.Second)
		fast := start(m, "k", nothing, retryForever, actorlock.RetryDelay(100*time.Millisecond))
		pass(time.Second)
		inner.Delete("k")
		pass(110 * time.Millisecond)
		require.True(t, slow.settled(), "the head profits from the attempt of another")
		require.True(t, fast.settled())
		require.NoError(t, slow.err)
		require.NoError(t, fast.err)
	})
}

// contract 2.5
func TestGrantIsNeverGivenToOneWhoLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := memstore.New()
		slow := leasetest.NewFaulty(inner)
		slow.On(leasetest.OpAcquire, leasetest.Times(1, leasetest.Fault{After: 100 * time.Millisecond}))
		m := newManager(t, slow)
		first := start(m, "k", never(t))
		synctest.Wait()
		second := start(m, "k", nothing)
		pass(10 * time.Millisecond)
		first.cancel(nil)
		require.ErrorIs(t, first.wait(), context.Canceled)
		require.NoError(t, second.wait(), "it goes to the next")
		require.Equal(t, 1, slow.Calls(leasetest.OpAcquire))

		slow.On(leasetest.OpAcquire, leasetest.Times(1, leasetest.Fault{After: 100 * time.Millisecond}))
		only := start(m, "k2", never(t))
		synctest.Wait()
		require.Equal(t, 1, inner.Len())
		only.cancel(nil)
		require.ErrorIs(t, only.wait(), context.Canceled)
		pass(100 * time.Millisecond)
		require.Zero(t, inner.Len(), "or is released")
	})
}

// contract 2.5
// However a leaving waiter and a grant cross, the lock is neither lost nor given
// to one who left.
func TestLeavingAndGrantCross(t *testing.T) {
	store := memstore.New()
	m := newManager(t, store)
	for range 300 {
		h := hold(t, m, "k")
		leaves, stays := start(m, "k", nothing, retryForever), start(m, "k", nothing, retryForever)
		go leaves.cancel(nil)
		require.NoError(t, h.let())
		if err := leaves.wait(); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			refused(t, err)
		}
		require.NoError(t, stays.wait())
	}
	eventually(t, func() bool { return store.Len() == 0 })
}
