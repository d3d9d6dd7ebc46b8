package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/measure"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// turns is a lone caller whose pairs come in turns with those of all others. In
// a loop of its own a pair finds processors that still spin from the last one,
// and what needs a single goroutine profits the most; here nobody does.
func turns() scenario {
	return scenario{
		name:  "serial/turns",
		title: "acquire + release, one caller, a pair of each contender in turns",
		base:  lockers.NamePlain,
		open: func(_ context.Context, b *bench) ([]contender, error) {
			t := &turnTable{bench: b}
			return nodes(pairing(), b.setup(), 1, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
				return t.seat(n[0])
			})
		},
	}
}

// turnTable is where contenders meet who take turns pair by pair. The first one
// whose round comes plays it for all.
type turnTable struct {
	bench *bench
	seats []*seat
}

// seat is one contender's.
type seat struct {
	locker lockers.Locker
	key    string
	played bool // and not asked for yet
	spent  time.Duration
	times  *measure.Times
}

// seat adds a contender, and is its round.
func (t *turnTable) seat(l lockers.Locker) func(context.Context) (report.Sample, error) {
	s := &seat{locker: l, key: fmt.Sprint("turn:", len(t.seats))}
	t.seats = append(t.seats, s)
	return func(ctx context.Context) (report.Sample, error) {
		if !s.played {
			if err := t.play(ctx); err != nil {
				return nil, err
			}
		}
		s.played = false
		return report.Sample{
			{Name: "mean", Unit: "µs", Value: float64(s.spent.Microseconds()) / float64(s.times.Count()), Compare: true},
			{Times: s.times, Unit: "µs", Per: time.Microsecond, Compare: true},
		}, nil
	}
}

func (t *turnTable) play(ctx context.Context) error {
	for _, s := range t.seats {
		s.played, s.spent, s.times = true, 0, new(measure.Times)
	}
	span := t.bench.span(1500*time.Millisecond, 300*time.Millisecond)
	for end := time.Now().Add(span); time.Now().Before(end) && ctx.Err() == nil; {
		for _, i := range rand.Perm(len(t.seats)) {
			s := t.seats[i]
			begin := time.Now()
			if err := s.locker.Do(ctx, s.key, nothing); err != nil {
				return err
			}
			d := time.Since(begin)
			s.times.Add(d)
			s.spent += d
		}
	}
	return nil
}
