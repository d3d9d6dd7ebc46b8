package torture

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The checks find what they are there for: locks that do not lock.

// run lets broken workers work on a single key until they are caught by check.
func run(t *testing.T, broken string, unfenced bool, befall func(r *round), check func([]*section) bool) []*section {
	r := newRound(t, 1, broken)
	r.register.mu.Lock()
	r.register.unfenced = unfenced
	r.register.mu.Unlock()
	for deadline := time.Now().Add(patience); !check(byKey(r.register.soFar())[r.keys[0]]); befall(r) {
		require.True(t, time.Now().Before(deadline), "not caught")
	}
	for _, w := range r.workers {
		w.kill()
	}
	return byKey(r.register.history())[r.keys[0]]
}

func nothing(*round) { time.Sleep(20 * time.Millisecond) }

func overlapping(s []*section) bool { return len(overlaps(s)) > 0 }
func unlocked(s []*section) bool    { return !linearizable(lockModel, lockHistory(s)) }
func miscount(s []*section) bool    { return !linearizable(counterModel, counterHistory(s)) }
func stale(s []*section) bool       { return len(staleWrites(s)) > 0 }

func TestWorkersThatIgnoreTheLockAreCaught(t *testing.T) {
	h := run(t, "ignores", false, nothing, overlapping)
	require.True(t, unlocked(h))
	require.False(t, miscount(h), "the tokens hold")
	require.False(t, stale(h))
}

func TestRegisterThatTakesEveryTokenIsCaught(t *testing.T) {
	h := run(t, "ignores", true, nothing, stale)
	require.True(t, miscount(h))
}

// Workers that go on after a loss, as they do not look at their context.
func TestWorkersThatAreDeafToLossesAreCaught(t *testing.T) {
	turn := 0
	h := run(t, "deaf", false, func(r *round) {
		turn++
		w := r.workers[turn%len(r.workers)]
		w.stop()
		time.Sleep(2 * r.ttl)
		w.resume()
		time.Sleep(r.ttl / 3)
	}, overlapping)
	require.True(t, unlocked(h))
	require.False(t, stale(h), "the tokens hold")
}

func TestTokensThatFallAreCaught(t *testing.T) {
	rising := []*section{
		{key: "k", token: 1, asked: 0, enter: 10},
		{key: "k", token: 3, asked: 15, enter: 20},
		{key: "k", token: 2, asked: 5, enter: 30}, // it asked before the others had entered
	}
	require.Empty(t, fallenTokens(rising, 0))
	rising[2].asked = 25
	require.Len(t, fallenTokens(rising, 0), 1)
	require.Empty(t, fallenTokens(rising, 5))
	rising[2].token = 3
	require.Len(t, fallenTokens(rising, 0), 2, "and it is the same")
}
