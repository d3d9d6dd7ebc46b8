package main

import (
	"context"
	"fmt"
	"time"

	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// locals are scenarios without a server: the in-memory store beside a map of
// mutexes, and re-entry.
func locals() []scenario {
	return []scenario{
		memoryLone(),
		memoryMany("memory/64", "in memory: 64 callers on distinct keys", func(i int) string { return fmt.Sprint("key:", i) }),
		memoryMany("memory/hot", "in memory: 64 callers on one key", func(int) string { return "hot" }),
		reentry(),
	}
}

// inProcess are the ways to lock within a process.
func inProcess() []lockers.Kind {
	return []lockers.Kind{lockers.MutexMap(), lockers.InMemory()}
}

func memoryLone() scenario {
	return scenario{
		name:  "memory/lone",
		title: "in memory: acquire + release, one caller",
		note:  "A mutex has no TTL, no token, no re-entry, and heeds no context.",
		base:  lockers.NameMutexMap,
		open: func(_ context.Context, b *bench) ([]contender, error) {
			return nodes(inProcess(), lockers.Setup{}, 1, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
				return func(ctx context.Context) (report.Sample, error) {
					t, err := repeat(b.microspan(), func() error { return n[0].Do(ctx, "key", nothing) })
					return t.sample(), err
				}
			})
		},
	}
}

func memoryMany(name, title string, key func(caller int) string) scenario {
	const callers = 64
	return scenario{
		name:  name,
		title: title,
		base:  lockers.NameMutexMap,
		open: func(_ context.Context, b *bench) ([]contender, error) {
			return nodes(inProcess(), lockers.Setup{}, 1, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
				keys := make([]string, callers)
				for i := range keys {
					keys[i] = key(i)
				}
				return func(ctx context.Context) (report.Sample, error) {
					d, err := b.drive(ctx, callers, b.microspan(), func(ctx context.Context, i int) error {
						return n[0].Do(ctx, keys[i], nothing)
					})
					return report.Sample{
						{Name: "sections", Unit: "/s", Value: d.rate(d.operations(0, callers)), Compare: true},
						{Name: "callers", Unit: "most/least", Value: d.served()},
						{Times: d.times, Unit: "µs", Per: time.Microsecond},
						{Name: "allocs", Unit: "/op", Value: d.usage.Allocs / float64(d.times.Count())},
					}, err
				}
			})
		},
	}
}

// reentry is a WithLock within the callback of another for the same key.
func reentry() scenario {
	return scenario{
		name:  "reentry",
		title: "WithLock within a callback that holds the key",
		open: func(_ context.Context, b *bench) ([]contender, error) {
			n, err := lockers.OpenLocal()
			if err != nil {
				return nil, err
			}
			return []contender{{name: lockers.NameActorlock, close: n.Close, round: func(ctx context.Context) (report.Sample, error) {
				var t tight
				err := n.WithLock(ctx, "key", func(ctx context.Context) (err error) {
					t, err = repeat(b.microspan(), func() error { return n.WithLock(ctx, "key", nothing) })
					return err
				})
				return t.sample(), err
			}}}, nil
		},
	}
}

// microspan is how long a round of what needs no server lasts.
func (b *bench) microspan() time.Duration { return b.span(200*time.Millisecond, 50*time.Millisecond) }
