package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/internal/redistest"
)

const (
	roundLength = 4 * time.Second
	// patience is how long a waiter may wait after the last fault, and a worker
	// may take for its end.
	patience = 30 * time.Second
)

// round is one server, some workers, and the faults that befall them.
type round struct {
	t        *testing.T
	seed     uint64
	cruel    bool // the server may give up keys early
	ttl      time.Duration
	long     int // of 1000 sections
	keys     []string
	server   *redistest.Server
	redis    *redis.Client // past all proxies
	register *register

	story  string // the schedule
	stalls *stalls

	mu      sync.Mutex
	sum     totals
	spawned uint64
	workers []*worker
}

// worker is a process and its way to the server.
type worker struct {
	*child
	proxy   *faultproxy.Proxy
	callers int
}

func newRound(t *testing.T, seed uint64, broken string) *round {
	rng := rand.New(rand.NewPCG(seed, 0))
	r := &round{
		t: t, seed: seed, cruel: seed%3 == 0 && broken == "", register: newRegister(t), stalls: watchStalls(t),
		ttl:  time.Duration(300+rng.IntN(300)) * time.Millisecond,
		long: 1 + rng.IntN(3),
	}
	if r.cruel {
		r.long = 20 // it takes a long one for a loss to be noticed in it
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.story)
		}
	})
	args := []redistest.Option{redistest.Args("--lua-time-limit", "5")}
	if !r.cruel {
		args = append(args, redistest.Persist())
	}
	r.server = redistest.Start(t, args...)
	r.redis = r.server.Client(t)
	keys := 1 + rng.IntN(40)
	if broken != "" {
		keys = 1
	}
	for i := range keys {
		r.keys = append(r.keys, fmt.Sprint("key-", i))
	}
	for range 3 {
		w := &worker{proxy: faultproxy.New(t, r.server.Addr()), callers: 1 + rng.IntN(24)}
		r.start(w, broken)
		r.workers = append(r.workers, w)
	}
	limit := time.Now().Add(patience)
	for _, w := range r.workers {
		require.NoError(t, w.hear("ready", limit))
	}
	return r
}

func (r *round) start(w *worker, broken string) {
	r.spawned++
	w.child = spawn(r.t, role{
		Redis: w.proxy.Addr(), Register: r.register.addr(), Worker: r.spawned, Seed: r.seed<<16 | r.spawned,
		Callers: w.callers, Long: r.long, Keys: r.keys, TTL: r.ttl, Broken: broken,
	})
}

// finish ends the workers: each caller gets through once more, and nothing of
// theirs stays behind.
func (r *round) finish() {
	t := r.t
	healed := time.Now()
	limit := healed.Add(patience)
	for _, w := range r.workers {
		w.proxy.Heal()
		_, err := fmt.Fprintln(w.in, "finish")
		require.NoError(t, err)
	}
	for i, w := range r.workers {
		require.NoError(t, w.hear("finished", limit), "a waiter is stuck in worker %d", i)
	}
	r.sum.settled = time.Since(healed)
	limit = time.Now().Add(patience)
	for _, w := range r.workers {
		require.NoError(t, w.hear("bye", limit))
		<-w.done
	}
	// Those of the workers that were killed end with their TTL.
	require.Eventually(t, func() bool { return len(r.left()) == 0 }, patience, 20*time.Millisecond, "keys are left: %v", r.left)
}

// left are the keys that are there, but for tokens and marks that expire.
func (r *round) left() (keys []string) {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	all, err := r.redis.Keys(ctx, "*").Result()
	if err != nil {
		return []string{err.Error()}
	}
	for _, key := range all {
		if !strings.Contains(key, ":actorlock-") || r.redis.PTTL(ctx, key).Val() == -1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// verify checks the history.
func (r *round) verify() {
	t, allowed := r.t, int64(0)
	if r.cruel {
		allowed = int64(r.ttl/3 + oneCommand + r.stalls.longest())
	}
	history := r.register.history()
	r.sum.count(history)
	for key, sections := range byKey(history) {
		for _, o := range overlaps(sections) {
			r.sum.overlap(time.Duration(o.length) - r.ttl/3)
			if o.length > allowed || !r.cruel {
				t.Errorf("%s: live at once (TTL %v): %v", key, r.ttl, o)
			}
		}
		for _, s := range fallenTokens(sections, allowed) {
			t.Errorf("%s: tokens do not rise: %s", key, s)
		}
		for _, s := range staleWrites(sections) {
			t.Errorf("%s: a stale write was accepted: %s", key, s)
		}
		if !linearizable(counterModel, counterHistory(sections)) {
			t.Errorf("%s: the counter is not linearizable", key)
		}
		if !r.cruel && !linearizable(lockModel, lockHistory(sections)) {
			t.Errorf("%s: the lock is not linearizable", key)
		}
	}
}

// oneCommand is what a command may take, beyond the third of the TTL after which
// the next extension tells of a key that is gone, on a machine that does not stall.
const oneCommand = 250 * time.Millisecond
