package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorlock/actorlock/bench/internal/measure"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// load is what callers did in a span of time.
type load struct {
	usage measure.Usage
	times *measure.Times // of each operation that ended in time
	each  []int          // operations by caller
}

// operation is what a caller does again and again.
type operation func(ctx context.Context, caller int) error

// drive has callers call op for a span. What is still under way when that ends
// is waited for and not counted.
func (b *bench) drive(ctx context.Context, callers int, span time.Duration, op operation) (load, error) {
	var stop atomic.Bool
	var running sync.WaitGroup
	each := make([]measure.Times, callers)
	errs := make([]error, callers)
	before, err := b.server.Usage(ctx)
	if err != nil {
		return load{}, err
	}
	for i := range callers {
		running.Go(func() {
			// One of its own, as a request has: a common one would be a place
			// where all callers meet.
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			for begin := time.Now(); !stop.Load(); {
				if errs[i] = op(ctx, i); errs[i] != nil || stop.Load() {
					return
				}
				end := time.Now()
				each[i].Add(end.Sub(begin))
				begin = end
			}
		})
	}
	wait(ctx, span)
	stop.Store(true)
	after, err := b.server.Usage(ctx)
	running.Wait()
	l := load{usage: after.Since(before), times: new(measure.Times)}
	for i := range each {
		l.times.Merge(&each[i])
		l.each = append(l.each, each[i].Count())
	}
	return l, errors.Join(err, errors.Join(errs...))
}

// crowd is drive for callers who all want the same key. Those who still wait for
// it at the end are sent away: where all poll in step, each would take its time.
func (b *bench) crowd(ctx context.Context, key string, callers int, span time.Duration, op operation) (load, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := time.AfterFunc(span+grace, cancel)
	defer over.Stop()
	l, err := b.drive(ctx, callers, span, func(ctx context.Context, i int) error {
		err := op(ctx, i)
		if ctx.Err() != nil {
			return nil // sent away
		}
		return err
	})
	// An acquire that was cancelled may have left its lock behind.
	return l, errors.Join(err, b.server.Client().Del(context.WithoutCancel(ctx), key).Err())
}

// grace is the time between the end of a crowd's span and its sending away: the
// counters are read in between.
const grace = 50 * time.Millisecond

// wait waits for d or the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// operations is how many operations the callers from first on ended in time.
func (l load) operations(first, callers int) (sum float64) {
	for _, n := range l.each[first : first+callers] {
		sum += float64(n)
	}
	return sum
}

// rate is how often a second something happened n times in all.
func (l load) rate(n float64) float64 { return n / l.usage.Elapsed.Seconds() }

// served is the most served caller's share over the least served one's.
func (l load) served() float64 {
	return float64(slices.Max(l.each)) / float64(slices.Min(l.each))
}

// spent are readings of what an operation costs.
func (l load) spent() []report.Reading {
	n := float64(l.times.Count())
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / n }
	return []report.Reading{
		{Name: "client CPU", Unit: "µs/op", Value: us(l.usage.Client)},
		{Name: "server CPU", Unit: "µs/op", Value: us(l.usage.Server)},
		{Name: "CPU", Unit: "µs/op", Value: us(l.usage.Client + l.usage.Server), Compare: true},
		{Name: "allocs", Unit: "/op", Value: l.usage.Allocs / n},
	}
}

// nothing is a section that does nothing.
func nothing(context.Context) error { return nil }

// tight is what an operation costs that is too short to be timed alone: it runs
// in blocks, one caller.
type tight struct{ ns, allocs, bytes float64 }

// repeat calls op for a span.
func repeat(span time.Duration, op func() error) (tight, error) {
	const block = 100
	n := 0.0
	objects, bytes := measure.Allocated()
	begin := time.Now()
	for time.Since(begin) < span {
		for range block {
			if err := op(); err != nil {
				return tight{}, err
			}
		}
		n += block
	}
	elapsed := time.Since(begin)
	objectsAfter, bytesAfter := measure.Allocated()
	return tight{
		ns:     float64(elapsed) / n,
		allocs: (objectsAfter - objects) / n,
		bytes:  (bytesAfter - bytes) / n,
	}, nil
}

// sample are its readings.
func (t tight) sample() report.Sample {
	return report.Sample{
		{Name: "ns", Unit: "/op", Value: t.ns, Compare: true},
		{Name: "allocs", Unit: "/op", Value: t.allocs},
		{Name: "bytes", Unit: "/op", Value: t.bytes},
	}
}
