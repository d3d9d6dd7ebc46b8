package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// hotKeys are scenarios of one key that everybody wants.
func hotKeys() []scenario {
	return []scenario{hotKey(1, 64), hotKey(4, 16), loneWaiter()}
}

// hotKey has callers on each of several nodes want one key.
func hotKey(size, callers int) scenario {
	s := scenario{
		name:  fmt.Sprintf("hot/%dx%d", size, callers),
		title: fmt.Sprintf("one key, %d node(s) with %d callers each", size, callers),
		note:  "callers, nodes: the most served over the least served; ∞ when one was never served.",
		base:  lockers.NamePlain,
	}
	s.open = func(_ context.Context, b *bench) ([]contender, error) {
		return nodes(everybody(), b.setup(), size, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
			return func(ctx context.Context) (report.Sample, error) { return b.hotKey(ctx, n, callers) }
		})
	}
	return s
}

func (b *bench) hotKey(ctx context.Context, cluster []lockers.Locker, callers int) (report.Sample, error) {
	// Long enough for many turns of each node, and of each caller.
	span := b.span(1500*time.Millisecond, 400*time.Millisecond)
	d, err := b.crowd(ctx, "hot", len(cluster)*callers, span, func(ctx context.Context, i int) error {
		return cluster[i/callers].Do(ctx, "hot", nothing)
	})
	if err != nil {
		return nil, err
	}
	sections := d.operations(0, len(d.each))
	sample := report.Sample{
		{Name: "sections", Unit: "/s", Value: d.rate(sections), Compare: true},
		{Name: "callers", Unit: "most/least", Value: d.served()},
	}
	if len(cluster) > 1 {
		var shares []float64
		for i := range cluster {
			shares = append(shares, d.operations(i*callers, callers)/sections)
		}
		most, least := slices.Max(shares), slices.Min(shares)
		sample = append(sample,
			report.Reading{Name: "nodes", Unit: "most/least", Value: most / least},
			report.Reading{Name: "least share", Unit: "%", Value: 100 * least},
			report.Reading{Name: "most share", Unit: "%", Value: 100 * most})
	}
	sample = append(sample,
		report.Reading{Name: "commands", Unit: "/1,000", Value: 1000 * d.usage.Commands / sections},
		report.Reading{Name: "wait", Times: d.times, Unit: "ms", Per: time.Millisecond})
	return append(sample, d.spent()...), nil
}
