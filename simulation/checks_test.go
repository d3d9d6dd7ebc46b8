package simulation

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
)

// A check that finds nothing proves nothing: each of them has to find what is
// wrong with a store that is broken in its way.
func TestBrokenStores(t *testing.T) {
	for _, c := range []struct {
		name string
		flaw flaw
		kind kind
		says string
	}{
		{"lets two in", twoIn, kind{name: "calm"}, "is alive"},
		{"tokens do not rise", flat, kind{name: "calm"}, "token was handed out before"},
		{"tokens fall", falls, kind{name: "calm"}, "an earlier holder had token"},
		{"forgets keys early", forgets, kind{name: "calm"}, "is alive"},
		{"grants what was lost", pretends, kind{name: "thefts", thefts: true}, "overlap too long"},
		{"keeps what was released", keeps, kind{name: "calm"}, "is left after Shutdown"},
		{"reports free keys held", refuses, kind{name: "calm"}, "its key has been free for"},
		{"loses what is held", drops, kind{name: "calm"}, "nobody took it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := 0
			for seed := uint64(1); seed <= 60 && found == 0; seed++ {
				p := newPlan(seed)
				if p.kind.name != c.kind.name {
					continue
				}
				p.breaks = c.flaw
				for _, line := range simulate(t, p, nil).broken {
					if strings.Contains(line, c.says) {
						found++
					}
				}
			}
			require.Positive(t, found, "not found")
		})
	}
}

// played is a world of one key in which calls are played by hand.
func played(t *testing.T, play func(w *world, call func(id int) *call)) []string {
	t.Helper()
	var broken []string
	synctest.Test(t, func(*testing.T) {
		p := &plan{kind: kind{name: "calm"}, keys: []string{"k"}, ttl: time.Second, maxTTL: time.Second}
		w := newWorld(p, nil)
		n := &node{w: w, name: "n"}
		play(w, func(id int) *call {
			s := &step{id: id, attempts: actorlock.RetryForever, delay: 10 * ms, ttl: time.Second}
			return &call{step: s, w: w, node: n, ctx: w.ctx}
		})
		broken = w.broken
	})
	return broken
}

// The order of callers is the library's doing: no store can break it.
func TestOrderIsChecked(t *testing.T) {
	overtake := func(then func(first *call)) []string {
		return played(t, func(w *world, call func(int) *call) {
			first, second := call(1), call(2)
			first.begin()
			time.Sleep(ms)
			second.begin()
			time.Sleep(ms)
			first.hold, second.hold = &hold{c: first, token: 1}, &hold{c: second, token: 2}
			second.checkOrder(time.Now())
			then(first)
		})
	}
	require.Empty(t, overtake(func(first *call) {
		first.settle(&actorlock.AcquireError{Err: actorlock.ErrShutdown})
	})[1:], "it gave up at that moment")
	inTheEnd := func(first *call) { first.checkOrder(time.Now()) }
	require.NotContains(t, strings.Join(overtake(inTheEnd), "\n"), "after a later call", "noticed late")
	require.Contains(t, strings.Join(overtake(func(first *call) {
		first.hold.token = 3
		inTheEnd(first)
	}), "\n"), "after a later call")
	require.Contains(t, strings.Join(overtake(func(first *call) {
		time.Sleep(ms)
		inTheEnd(first)
	}), "\n"), "after a later call")
	require.Contains(t, strings.Join(overtake(func(first *call) {
		time.Sleep(ms)
		first.settle(&actorlock.AcquireError{Err: actorlock.ErrHeld})
	}), "\n"), "was overtaken")
}

// What a call returns is checked too.
func TestOutcomesAreChecked(t *testing.T) {
	for says, err := range map[string]error{
		"end of the callback that was not": nil,
		"nothing to end its wait":          &actorlock.AcquireError{Err: actorlock.ErrHeld},
		"refused without need":             &actorlock.AcquireError{Err: errInjected},
		"by a shutdown that was not":       &actorlock.AcquireError{Err: actorlock.ErrShutdown},
		"never had":                        &actorlock.LockLostError{Err: actorlock.ErrLeaseGone},
		"returned injected":                errInjected,
	} {
		broken := played(t, func(w *world, call func(int) *call) {
			c := call(1)
			c.begin()
			c.settle(err)
		})
		require.Contains(t, strings.Join(broken, "\n"), says)
	}
}

// A plan is the same every time.
func TestPlansRepeat(t *testing.T) {
	for seed := range uint64(20) {
		require.Equal(t, newPlan(seed), newPlan(seed))
	}
	require.NotEqual(t, newPlan(1).callers, newPlan(2).callers)
}
