package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock/lease"
)

// maxAbandoned bounds the commands of a lane that still hang in the client
// although their callers have gone. They end by the client's own time-outs.
const maxAbandoned = 512

// lane is a way to the server: a client, and how its commands are executed.
// It is safe for concurrent use.
type lane struct {
	client    redis.UniversalClient
	logger    *slog.Logger
	broken    error // why nothing can be sent at all
	abandoned atomic.Int64
	combiner  combiner
}

// send executes cmds, as one pipeline when there are several. With a nil error
// every command has its result, which may be an error of its own. Otherwise ctx
// ended first, or nothing was sent, and cmds must not be looked at any more:
// they may still be in flight.
func (l *lane) send(ctx context.Context, op string, cmds []*command) error {
	if lease.IsPatient(ctx) && ctx.Err() == nil && l.broken == nil {
		if _, ends := ctx.Deadline(); ends {
			ctx = patient{ctx}
		}
		l.execute(ctx, cmds)
		return nil
	}
	return l.await(ctx, op, func(ctx context.Context) { l.execute(ctx, cmds) })
}

// await runs f, which talks to the server, for no longer than ctx lasts. The
// client's own settings cannot be trusted with that: many ignore a deadline,
// and none notices in mid-read that a context was cancelled.
func (l *lane) await(ctx context.Context, op string, f func(context.Context)) error {
	switch {
	case l.broken != nil:
		return &lease.StoreError{Op: op, Kind: lease.Permanent, Err: l.broken}
	case ctx.Err() != nil:
		return &lease.StoreError{Op: op, Kind: lease.NotExecuted, Err: ctx.Err()}
	case ctx.Done() == nil:
		f(patient{ctx})
		return nil
	case l.abandoned.Load() >= maxAbandoned:
		return &lease.StoreError{Op: op, Kind: lease.NotExecuted, Err: errAbandoned}
	}
	const over, left = 1, 2
	var state atomic.Int32
	done := make(chan struct{})
	go func() {
		f(patient{ctx})
		if state.CompareAndSwap(0, over) {
			close(done)
			return
		}
		l.abandoned.Add(-1)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	l.abandoned.Add(1)
	if !state.CompareAndSwap(0, left) {
		l.abandoned.Add(-1)
		return nil
	}
	return &lease.StoreError{Op: op, Err: fmt.Errorf("%w: %w", lease.ErrNoReply, ctx.Err())}
}

var errAbandoned = errors.New("too many commands without a reply, nothing was sent")

// resends is how often a command is sent again, after pauses that grow from
// firstResend.
const (
	resends     = 3
	firstResend = 10 * time.Millisecond
)

// execute sends cmds, and again those that may have better luck. The client
// does not do that by itself: it would repeat whole pipelines, and would not
// say whether an earlier send may have been executed.
func (l *lane) execute(ctx context.Context, cmds []*command) {
	for n := 0; ; n++ {
		l.exchange(ctx, cmds)
		l.lookAround(ctx, cmds)
		var again []*command
		pause := false
		for _, c := range cmds {
			switch c.next() {
			case spellOut:
				again = append(again, c)
			case resend:
				again = append(again, c)
				pause = true
			}
		}
		if len(again) == 0 || n == resends || ctx.Err() != nil || pause && !sleep(ctx, jitter(firstResend<<n)) {
			return
		}
		for _, c := range again {
			c.renew(ctx)
		}
		cmds = again
	}
}

// sleep waits for d and reports whether ctx lasted that long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// exchange makes one round trip, together with other callers' commands when
// the lane is busy. Batches, and whatever goes to several servers, of which one
// may hang, travel alone.
func (l *lane) exchange(ctx context.Context, cmds []*command) {
	if _, ok := l.client.(*redis.ClusterClient); ok || len(cmds) > 2 {
		l.trip(ctx, cmds)
		return
	}
	if !l.combiner.do(ctx, cmds, l.trip) {
		for _, c := range cmds {
			c.SetErr(&notSentError{ctx.Err()})
		}
	}
}

// trip makes one round trip. A panic, which must come from a hook of the
// application's client, becomes the error of the commands.
func (l *lane) trip(ctx context.Context, cmds []*command) {
	var err error
	if reason := l.guard(func() { err = l.roundTrip(ctx, cmds) }); reason != nil {
		for _, c := range cmds {
			c.SetErr(&panicError{reason})
		}
		return
	}
	for _, c := range cmds {
		// The error of a pipeline is the first of its commands, which says
		// nothing of the others; but a hook that sends nothing leaves it as
		// the only trace.
		if err != nil && c.Err() == nil && c.Val() == nil {
			c.SetErr(err)
		}
	}
}

func (l *lane) roundTrip(ctx context.Context, cmds []*command) error {
	if len(cmds) == 1 {
		return l.client.Process(ctx, cmds[0])
	}
	pipe := l.client.Pipeline()
	for _, c := range cmds {
		if err := pipe.Process(ctx, c); err != nil {
			return err
		}
	}
	_, err := pipe.Exec(ctx)
	return err
}

// guard runs f and returns what it panicked with, if it did.
func (l *lane) guard(f func()) (reason any) {
	defer func() {
		if reason = recover(); reason != nil {
			l.logger.Error("the Redis client panicked", "reason", reason, "stack", string(debug.Stack()))
		}
	}()
	f()
	return nil
}

// patient is a context whose deadline does not cut off a reply: a command that
// has been sent is worth waiting for in the background, since it may have taken
// a key. Its end still stops everything that comes before the sending.
type patient struct{ context.Context }

// patience is how long after its deadline a command may wait for its reply,
// with a client that has no time-outs of its own.
const patience = 10 * time.Second

func (p patient) Deadline() (time.Time, bool) {
	t, ok := p.Context.Deadline()
	return t.Add(patience), ok
}
