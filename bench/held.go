package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/measure"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// heldTTL is the TTL of locks in bulk: short, so that renewals count.
const heldTTL = 3 * time.Second

// probeEvery is how often a client of its own asks the server for an answer.
const probeEvery = 2 * time.Millisecond

// settle is the time that what was closed, or is kept for reuse for a moment,
// has to go before memory is looked at.
const settle = 600 * time.Millisecond

// heldKeys are scenarios of many locks that are held and kept alive.
func heldKeys(quick bool) []scenario {
	sizes := []int{10, 1_000, 10_000, 100_000}
	if quick {
		sizes = sizes[:2]
	}
	var all []scenario
	for _, n := range sizes {
		all = append(all, heldKey(n, quick))
	}
	return all
}

func heldKey(n int, quick bool) scenario {
	s := scenario{
		name:  fmt.Sprint("held/", n),
		title: fmt.Sprintf("%d keys held with a TTL of %s, each by a goroutine that waits", n, heldTTL),
		note: "plain and the peers: a goroutine with a ticker and a command per key every TTL/3. kept: keys still held at the end.\n" +
			"  slowest: the longest command in the slow log, 0 below 0.1 ms. probe: PING of another client, every 2 ms.",
		base: lockers.NamePlain,
		cold: true,
		most: 3,
		open: func(_ context.Context, b *bench) ([]contender, error) {
			setup := b.setup()
			setup.TTL, setup.KeepAlive = heldTTL, true
			kinds := append(everybody(), lockers.Actorlock(lockers.NameAwait, actorlock.AwaitCallback()))
			return nodes(kinds, setup, 1, func(l []lockers.Locker) func(context.Context) (report.Sample, error) {
				return func(ctx context.Context) (report.Sample, error) { return b.held(ctx, l[0], n) }
			})
		},
	}
	if n >= 100_000 || quick {
		s.most = 1
	}
	return s
}

func (b *bench) held(ctx context.Context, l lockers.Locker, n int) (report.Sample, error) {
	// Connections are there before the first of many keys, as a rule.
	hold(ctx, l, abreast).release()
	wait(ctx, b.span(settle, settle/3))
	server, err := b.server.Memory(ctx)
	if err != nil {
		return nil, err
	}
	memory := measure.MemoryNow()
	begin := time.Now()
	g := hold(ctx, l, n)
	defer g.release()
	took := time.Since(begin)

	kept, err := b.keep(ctx)
	if err != nil {
		return nil, err
	}
	// What the acquiring took has gone by now. Where some were lost, the memory
	// is that of the others.
	there := max(int(g.held.Load()), 1)
	grown := measure.MemoryNow().Since(memory, there)
	serverAfter, err := b.server.Memory(ctx)
	if err != nil {
		return nil, err
	}
	sample := report.Sample{
		{Name: "acquire", Unit: "s", Value: took.Seconds()},
		{Name: "kept", Value: float64(g.held.Load())},
	}
	sample = append(sample, kept...)
	if n < 1000 { // connections and buffers would be most of it
		return sample, nil
	}
	return append(sample,
		report.Reading{Name: "memory", Unit: "kB/key", Value: grown.Bytes / 1000, Compare: true},
		report.Reading{Name: "goroutines", Unit: "/key", Value: grown.Goroutines},
		report.Reading{Name: "server memory", Unit: "B/key", Value: (serverAfter - server) / float64(there)},
	), nil
}

// keep measures what it costs to do nothing but hold.
func (b *bench) keep(ctx context.Context) (report.Sample, error) {
	if err := b.server.ForgetSlow(ctx); err != nil {
		return nil, err
	}
	runtime.GC() // of what the acquiring has left, which is not a cost of holding
	before, err := b.server.Usage(ctx)
	if err != nil {
		return nil, err
	}
	// At least one renewal of each key; as a rule three.
	wait(ctx, b.span(heldTTL, heldTTL/3+100*time.Millisecond))
	after, err := b.server.Usage(ctx)
	if err != nil {
		return nil, err
	}
	// Not at the same time: it would be most of what few keys cost.
	probes, err := b.probe(ctx, b.span(heldTTL/2, heldTTL/10))
	if err != nil {
		return nil, err
	}
	slowest, err := b.server.Slowest(ctx)
	if err != nil {
		return nil, err
	}
	u := after.Since(before)
	each := func(d time.Duration) float64 { return 1000 * d.Seconds() / u.Elapsed.Seconds() }
	return report.Sample{
		{Name: "client CPU", Unit: "ms/s", Value: each(u.Client), Compare: true},
		{Name: "server CPU", Unit: "ms/s", Value: each(u.Server), Compare: true},
		{Name: "commands", Unit: "/s", Value: u.Commands / u.Elapsed.Seconds()},
		{Name: "slowest", Unit: "ms", Value: 1000 * slowest.Seconds()},
		{Name: "probe", Times: probes, Unit: "ms", Per: time.Millisecond},
	}, nil
}

// probe asks the server for an answer now and then, as another client would,
// and says how long each took. Its CPU time is in everybody's figures.
func (b *bench) probe(ctx context.Context, span time.Duration) (*measure.Times, error) {
	times := new(measure.Times)
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); <-tick.C {
		begin := time.Now()
		if err := b.server.Client().Ping(ctx).Err(); err != nil {
			return nil, err
		}
		times.Add(time.Since(begin))
	}
	return times, nil
}
