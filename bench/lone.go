package main

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/measure"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// retryDelay is the default RetryDelay, which the lone waiter waits with.
const retryDelay = 200 * time.Millisecond

// saturating is how many callers keep a key busy on their node, and busyFor is
// how long their sections last: there is always somebody who waits.
const (
	saturating = 16
	busyFor    = time.Millisecond
)

// How long, and up to 20 ms more, somebody rests who was let in. The poller's
// release is as silent as its wait: the node finds out by its own next attempt,
// and until then the key is free for the poller to take again and again.
const (
	shortRest = 0
	longRest  = retryDelay + 50*time.Millisecond
)

// loneWaiter is one caller of another node beside a saturated one.
func loneWaiter() scenario {
	return scenario{
		name:  "hot/lone",
		title: "one key, a node with 16 callers (sections of 1 ms) and a lone waiter of another node",
		note:  "wait: the lone waiter's, also in RetryDelays of 200 ms. A wait that outlasts the round ends with it.",
		base:  lockers.NamePlain,
		open: func(_ context.Context, b *bench) ([]contender, error) {
			return nodes(everybody(), b.setup(), 2, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
				return func(ctx context.Context) (report.Sample, error) {
					return b.beside(ctx, n[0], shortRest, func(ctx context.Context) error { return n[1].Do(ctx, "hot", nothing) })
				}
			})
		},
	}
}

// beside measures how long enter, which gets the key "hot" from elsewhere and
// gives it back, takes beside callers who keep it busy.
func (b *bench) beside(ctx context.Context, busy lockers.Locker, rest time.Duration, enter func(context.Context) error) (report.Sample, error) {
	waits := new(measure.Times)
	section := func(ctx context.Context) error {
		wait(ctx, busyFor)
		return nil
	}
	d, err := b.crowd(ctx, "hot", saturating+1, b.span(2*time.Second, 400*time.Millisecond), func(ctx context.Context, i int) error {
		if i < saturating {
			return busy.Do(ctx, "hot", section)
		}
		wait(ctx, rest+time.Duration(rand.Int64N(int64(20*time.Millisecond))))
		begin := time.Now()
		err := enter(ctx)
		waits.Add(time.Since(begin))
		return err
	})
	return report.Sample{
		{Name: "sections", Unit: "/s", Value: d.rate(d.operations(0, saturating)), Compare: true},
		{Name: "entries", Unit: "/s", Value: d.rate(d.operations(saturating, 1))},
		{Name: "wait", Times: waits, Unit: "ms", Per: time.Millisecond},
		{Name: "wait/delay", Times: waits, Per: retryDelay},
	}, err
}

// pollEvery is how often the old poller tries.
const pollEvery = 20 * time.Millisecond

// pollerGap is an old poller, which never announces itself, beside a saturated
// node with several values of Config.PollerGap.
func pollerGap() scenario {
	gaps := []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}
	var kinds []lockers.Kind
	for _, gap := range gaps {
		kinds = append(kinds, lockers.Configured("gap "+gap.String(), actorlock.Config{PollerGap: gap}))
	}
	return scenario{
		name:  "pollergap",
		title: "one key, a node with 16 callers (sections of 1 ms) and a poller elsewhere that tries every 20 ms",
		note:  "wait, polls: the poller's until it got in. A wait that outlasts the round ends with it.",
		base:  kinds[0].Name,
		open: func(_ context.Context, b *bench) ([]contender, error) {
			return nodes(kinds, b.setup(), 1, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
				return func(ctx context.Context) (report.Sample, error) { return b.pollerGap(ctx, n[0]) }
			})
		},
	}
}

func (b *bench) pollerGap(ctx context.Context, busy lockers.Locker) (report.Sample, error) {
	var polls, entries atomic.Int64
	sample, err := b.beside(ctx, busy, longRest, func(ctx context.Context) error {
		entries.Add(1)
		return poll(ctx, b.server.Client(), &polls)
	})
	return append(sample[:len(sample)-1], // its waits have nothing to do with RetryDelays
		report.Reading{Name: "polls", Unit: "/entry", Value: float64(polls.Load()) / float64(entries.Load())}), err
}

// poll is the older Mutex: SET NX now and then, a little off the beat each time.
func poll(ctx context.Context, c *redis.Client, polls *atomic.Int64) error {
	for {
		polls.Add(1)
		taken, err := c.SetNX(ctx, "hot", "poller/0", time.Minute).Result()
		if err != nil {
			return err
		}
		if taken {
			return c.Del(ctx, "hot").Err()
		}
		if wait(ctx, pollEvery-time.Duration(rand.Int64N(int64(pollEvery/10)))); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
