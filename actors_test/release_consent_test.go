package actors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

// afterTheCheck lets a turn of hand-overs end and, while the store is asked
// whether others wait, which takes that long, has the next caller leave. It
// returns what was sent until the one after that has the lock.
func afterTheCheck(t *testing.T, takes time.Duration, last ...actorlock.Option) (rec *recorder, c *running) {
	mem := memstore.New()
	f := leasetest.NewFaulty(mem)
	rec = &recorder{Store: f}
	m := newManager(t, rec, retryForever, actorlock.TTL(300*time.Millisecond))
	a := holding(t, t.Context(), m, "k")
	b := start(m, "k", never(t))
	queued(t, m, "k", 1)
	c = queueUp(t, t.Context(), m, "k", last...)
	queued(t, m, "k", 2)
	pass(60 * time.Millisecond)
	f.On(leasetest.OpContended, leasetest.Always(leasetest.Fault{Before: takes}))
	// Not to be confirmed meanwhile.
	f.On(leasetest.OpExtend, leasetest.Always(leasetest.Fault{After: time.Second}))
	a.release()
	b.cancel(nil)
	c.granted()
	return rec.seen(), c
}

// contract 4.4: a caller who wants no hand-over gets none, also when it has
// become the next one only while the hand-over was being arranged.
func TestNoHandOverToWhoHasBecomeTheNext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec, _ := afterTheCheck(t, 10*time.Millisecond, actorlock.HandOver(false))
		require.Len(t, rec.releases, 1)
		require.Len(t, rec.acquires, 2)
	})
}

// contract 4.3: what is asked of the store for a hand-over may take long; none is
// made if the last confirmation is older than TTL/3 by then.
func TestNoHandOverAfterALongCheck(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec, _ := afterTheCheck(t, 150*time.Millisecond)
		require.Len(t, rec.releases, 1)
		require.Len(t, rec.acquires, 2)
	})
	bubble(t, func(t *testing.T) {
		rec, _ := afterTheCheck(t, 10*time.Millisecond)
		require.Empty(t, rec.releases, "and otherwise there is one")
	})
}
