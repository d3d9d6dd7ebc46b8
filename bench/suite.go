package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/measure"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// scenario is one piece of work that every contender does in each round.
type scenario struct {
	name  string // what -run selects by
	title string
	note  string
	base  string // the contender that ratios refer to
	most  int    // rounds at most, however many were asked for; 0: no bound
	cold  bool   // every round begins anew: no round to warm up
	open  func(context.Context, *bench) ([]contender, error)
}

// contender takes part in a scenario.
type contender struct {
	name  string
	round func(context.Context) (report.Sample, error)
	close func() error
}

// bench is a run: what scenarios need to measure.
type bench struct {
	server *measure.Server
	rounds int
	quick  bool
	say    *progress
	warmUp bool // the round at hand does not count
}

// span is how long a round of a scenario lasts.
func (b *bench) span(full, quick time.Duration) time.Duration {
	d := full
	if b.quick {
		d = quick
	}
	if b.warmUp {
		d /= 3
	}
	return d
}

// run runs a scenario. An error of a contender ends its part in it and is noted
// in the result; the error returned is one that ends the run.
func (b *bench) run(ctx context.Context, s scenario) (report.Scenario, error) {
	result := report.Scenario{Name: s.name, Title: s.title, Note: s.note, Base: s.base, Rounds: b.rounds}
	if s.most > 0 {
		result.Rounds = min(result.Rounds, s.most)
	}
	b.say.start(s.name)
	if err := b.server.Reset(ctx); err != nil {
		return result, err
	}
	all, err := s.open(ctx, b)
	if err != nil {
		return result, err
	}
	samples := make([][]report.Sample, len(all))
	errs := make([]error, len(all))
	first := 0
	if !s.cold {
		first = -1 // connections, scripts and stacks come into being unmeasured
	}
	for r := first; r < result.Rounds; r++ {
		b.warmUp = r < 0
		for i := range all {
			// Another one begins each time: who follows whom is part of the noise.
			i = (i + max(r, 0)) % len(all)
			if errs[i] != nil {
				continue
			}
			b.say.round(s.name, all[i].name, r+1, result.Rounds)
			runtime.GC() // nobody pays for what another one left
			sample, err := all[i].round(ctx)
			if ctx.Err() != nil {
				return result, errors.Join(context.Cause(ctx), closeAll(all))
			}
			if errs[i] = err; err == nil && r >= 0 {
				samples[i] = append(samples[i], sample)
			}
		}
	}
	for i, c := range all {
		if errs[i] == nil {
			errs[i] = c.close()
		} else {
			_ = c.close() // what came first is what is told
		}
		k := report.Candidate{Name: c.name, Metrics: report.Metrics(samples[i])}
		if errs[i] != nil {
			k.Error = errs[i].Error()
		}
		result.Candidates = append(result.Candidates, k)
	}
	if i := slices.IndexFunc(samples, func(s []report.Sample) bool { return len(s) > 0 }); i >= 0 {
		result.Compare(samples[i][0])
	}
	return result, nil
}

func closeAll(all []contender) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// nodes opens a number of lockers of each kind, one for each node that takes
// part, and has turn make them into contenders.
func nodes(kinds []lockers.Kind, setup lockers.Setup, n int,
	turn func([]lockers.Locker) func(context.Context) (report.Sample, error)) ([]contender, error) {
	var all []contender
	for _, k := range kinds {
		c := contender{name: k.Name}
		var cluster []lockers.Locker
		c.close = func() error {
			var errs []error
			for _, l := range cluster {
				errs = append(errs, l.Close())
			}
			return errors.Join(errs...)
		}
		all = append(all, c)
		for range n {
			l, err := k.Open(setup)
			if err != nil {
				return nil, errors.Join(err, c.close(), closeAll(all[:len(all)-1]))
			}
			cluster = append(cluster, l)
		}
		all[len(all)-1].round = turn(cluster)
	}
	return all, nil
}

// everybody are the ways to lock with a server.
func everybody() []lockers.Kind {
	return []lockers.Kind{lockers.Plain(), lockers.Redsync(), lockers.Redislock(), lockers.Actorlock(lockers.NameActorlock)}
}

// setup is what lockers are opened with, apart from exceptions.
func (b *bench) setup() lockers.Setup {
	return lockers.Setup{Addr: b.server.Addr(), TTL: 30 * time.Second}
}
