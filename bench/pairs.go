package main

import (
	"context"
	"fmt"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// pairs are scenarios of acquire and release without contention: one caller, and
// many on a key of their own each.
func pairs() []scenario {
	all := []scenario{pair(1), turns()}
	for _, callers := range []int{16, 64, 256, 1024} {
		all = append(all, pair(callers))
	}
	return all
}

func pair(callers int) scenario {
	s := scenario{
		name:  fmt.Sprint("pairs/", callers),
		title: fmt.Sprintf("acquire + release, %d callers on distinct keys", callers),
		base:  lockers.NamePlain,
	}
	if callers == 1 {
		s.name, s.title = "serial", "acquire + release, one caller, one pair after the other"
	}
	s.open = func(_ context.Context, b *bench) ([]contender, error) {
		return nodes(pairing(), b.setup(), 1, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
			return func(ctx context.Context) (report.Sample, error) { return b.pairs(ctx, n[0], callers) }
		})
	}
	return s
}

// pairing are those who take part.
func pairing() []lockers.Kind {
	return append(everybody(), lockers.Actorlock(lockers.NameUnfenced, actorlock.Fencing(false)))
}

func (b *bench) pairs(ctx context.Context, l lockers.Locker, callers int) (report.Sample, error) {
	keys := make([]string, callers)
	for i := range keys {
		keys[i] = fmt.Sprint("pair:", i)
	}
	span := b.span(300*time.Millisecond, 60*time.Millisecond)
	if callers > 64 { // whose single operations take longer
		span = b.span(400*time.Millisecond, 120*time.Millisecond)
	}
	d, err := b.drive(ctx, callers, span,
		func(ctx context.Context, i int) error { return l.Do(ctx, keys[i], nothing) })
	return append(report.Sample{
		{Name: "pairs", Unit: "/s", Value: d.rate(d.operations(0, callers)), Compare: true},
		{Times: d.times, Unit: "µs", Per: time.Microsecond, Compare: true},
	}, d.spent()...), err
}
