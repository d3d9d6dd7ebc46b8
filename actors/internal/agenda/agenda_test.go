package agenda

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type entry struct{ Slot }

func TestAgendaIsInOrder(t *testing.T) {
	var a Agenda[*entry]
	require.True(t, a.Due().IsZero())
	require.Nil(t, a.First())
	base := time.Now()
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]*entry, 300)
	for i := range all {
		all[i] = new(entry)
		require.False(t, a.Remove(all[i]), "not in")
	}
	in := map[*entry]bool{}
	for range 5000 {
		e := all[random.IntN(len(all))]
		if random.IntN(3) == 0 {
			require.Equal(t, in[e], a.Remove(e))
			require.False(t, e.Listed())
			delete(in, e)
		} else {
			a.Set(e, base.Add(time.Duration(random.IntN(100))*time.Second))
			in[e] = true
		}
		require.Equal(t, len(in), a.Len())
		for i, l := range a.lines {
			e := l.entry
			require.Equal(t, i+1, e.place)
			require.False(t, l.at.Before(a.Due()))
		}
	}
	last := base
	for a.Len() > 0 {
		require.False(t, a.Due().Before(last))
		last = a.Due()
		require.True(t, a.Remove(a.First()))
	}
}

func TestAgendaDoesNotTakeAnothersPlace(t *testing.T) {
	var a, b Agenda[*entry]
	in, out := new(entry), new(entry)
	a.Set(in, time.Now())
	b.Set(out, time.Now())
	require.False(t, a.Remove(out), "of another agenda")
	require.Equal(t, 1, a.Len())
}
