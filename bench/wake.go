package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/measure"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// lanes is how many keys are waited for side by side: few enough for a waiter
// not to be held up by another one's wake-up.
const lanes = 8

// wakeUps are scenarios of a waiter whose turn comes by an event elsewhere.
func wakeUps() []scenario {
	return []scenario{
		{
			name:  "wake/release",
			title: "a waiter's entry after a release on another node",
			note:  "From the end of the holder's section to the begin of the waiter's.",
			base:  lockers.NamePlain,
			open: func(_ context.Context, b *bench) ([]contender, error) {
				return nodes(everybody(), b.setup(), 2, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
					return func(ctx context.Context) (report.Sample, error) {
						return b.waits(ctx, func(ctx context.Context, key string) (time.Duration, error) {
							return afterRelease(ctx, n[0], n[1], key)
						})
					}
				})
			},
		},
		{
			name:  "wake/expiry",
			title: "a waiter's entry after a crashed holder's key has expired",
			note:  "Redis counts in whole milliseconds: an entry may seem to come up to 1 ms early, which reads 0.",
			base:  lockers.NamePlain,
			open: func(_ context.Context, b *bench) ([]contender, error) {
				return nodes(everybody(), b.setup(), 1, func(n []lockers.Locker) func(context.Context) (report.Sample, error) {
					return func(ctx context.Context) (report.Sample, error) {
						return b.waits(ctx, func(ctx context.Context, key string) (time.Duration, error) {
							return b.afterExpiry(ctx, n[0], key)
						})
					}
				})
			},
		},
	}
}

// waits collects how long waiters waited for nothing.
func (b *bench) waits(ctx context.Context, once func(ctx context.Context, key string) (time.Duration, error)) (report.Sample, error) {
	var mu sync.Mutex
	times := new(measure.Times)
	_, err := b.drive(ctx, lanes, b.span(2*time.Second, 400*time.Millisecond), func(ctx context.Context, lane int) error {
		d, err := once(ctx, fmt.Sprint("wake:", lane))
		mu.Lock()
		defer mu.Unlock()
		times.Add(d)
		return err
	})
	return report.Sample{
		{Times: times, Unit: "ms", Per: time.Millisecond, Compare: true},
		{Name: "entries", Value: float64(times.Count())},
	}, err
}

// afterRelease has a hold the key while b waits for it.
func afterRelease(ctx context.Context, a, b lockers.Locker, key string) (time.Duration, error) {
	// At random, so that pollers are met at any point between two polls.
	hold := 30*time.Millisecond + time.Duration(rand.Int64N(int64(200*time.Millisecond)))
	held, done := make(chan struct{}), make(chan error, 1)
	var left, entered time.Time
	go func() {
		done <- a.Do(ctx, key, func(ctx context.Context) error {
			close(held)
			wait(ctx, hold)
			left = time.Now()
			return nil
		})
	}()
	select {
	case <-held:
	case err := <-done:
		return 0, err
	}
	err := b.Do(ctx, key, func(context.Context) error {
		entered = time.Now()
		return nil
	})
	if e := <-done; e != nil {
		return 0, e
	}
	return entered.Sub(left), err
}

// afterExpiry has l wait for a key whose holder is no more.
func (b *bench) afterExpiry(ctx context.Context, l lockers.Locker, key string) (time.Duration, error) {
	ttl := (200 + time.Duration(rand.Int64N(200))) * time.Millisecond
	sent := time.Now()
	if err := b.server.Client().Set(ctx, key, "crashed/0", ttl).Err(); err != nil {
		return 0, err
	}
	var entered time.Time
	err := l.Do(ctx, key, func(context.Context) error {
		entered = time.Now()
		return nil
	})
	return max(entered.Sub(sent.Add(ttl)), 0), err
}
