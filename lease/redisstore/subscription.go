package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	pingEvery = 3 * time.Second
	// linger keeps an unused connection for a moment: a waiter that gets its
	// lock is often followed by the next.
	linger      = 200 * time.Millisecond
	closeWithin = time.Second
	// Pauses between attempts to subscribe.
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
	deniedPause  = time.Minute // the right to subscribe may be granted some day
)

var errSilent = errors.New("no answer on the connection of the subscription")

// health is what is known of the subscription from one connection to the next.
// It is the running goroutine's alone.
type health struct {
	failures int
	rest     time.Time // when to try again
	down     bool      // an interruption has been logged
	denied   bool      // missing rights have been logged
}

// run keeps a subscription for as long as anything is watched.
func (h *hub) run() {
	for {
		if rest := time.Until(h.health.rest); rest > 0 && h.sleep(rest) {
			return
		}
		confirmed, err := h.subscription()
		h.assess(confirmed, err)
		if h.interrupted() {
			return
		}
	}
}

// assess logs the end of a connection, once each time it matters, and says
// when the next may be opened. A nil error is no failure.
func (h *hub) assess(confirmed bool, err error) {
	if confirmed {
		h.health = health{}
	}
	if _, closed := h.idle(); err == nil || closed {
		return
	}
	err = discreet(err)
	pause := jitter(min(firstPause<<min(h.health.failures, 10), longestPause))
	h.health.failures++
	switch {
	case redis.IsPermissionError(err):
		pause = deniedPause
		if !h.health.denied {
			h.logger.Warn("no right to subscribe to releases in Redis: waiters only poll", "error", err)
		}
		h.health.denied = true
	case errors.Is(err, redis.ErrClosed):
		pause = deniedPause // and nobody is to blame but who closed it
	case !h.health.down:
		h.logger.Warn("wake-ups from Redis are interrupted: waiters poll meanwhile", "error", err)
		h.health.down = true
	}
	h.health.rest = time.Now().Add(pause)
}

// jitter takes up to half of d away, so that nodes do not come back in step.
func jitter(d time.Duration) time.Duration { return d - rand.N(d/2) }

// sleep waits for d, or until nobody watches any more, which it reports.
func (h *hub) sleep(d time.Duration) (retired bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return false
		case <-h.kick:
			if idle, _ := h.idle(); idle && h.interrupted() {
				return true
			}
		}
	}
}

// subscription holds one connection until it fails, or until nothing has been
// watched for a while; then the error is nil. It reports whether the server has
// confirmed anything. All that may wait for the server happens here, never in
// the calls of Watch and stop.
func (h *hub) subscription() (confirmed bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var pubsub *redis.PubSub
	if reason := h.lane.guard(func() { pubsub = h.lane.client.Subscribe(ctx) }); reason != nil {
		cancel()
		return false, &panicError{reason}
	}
	r := &receiver{hub: h, pubsub: pubsub, failed: make(chan error, 1)}
	receiving := false
	defer func() {
		cancel() // ends a dial, which Close would wait for
		closing := pubsub.Close()
		if receiving {
			<-r.failed
		}
		if closing != nil {
			h.logger.Debug("closing the connection of a subscription failed", "error", closing)
		}
		confirmed = r.confirmed.Load()
	}()

	subscribed := map[string]struct{}{}
	ticker := time.NewTicker(h.pingEvery)
	defer ticker.Stop()
	var unanswered int
	var bored <-chan time.Time // of having nothing to do
	for {
		add, drop, joined := h.wanted(subscribed)
		if err := h.change(ctx, pubsub, subscribed, add, drop); err != nil {
			return false, err
		}
		for _, w := range joined {
			w.call("")
		}
		if !receiving && len(subscribed) > 0 {
			receiving = true
			go r.receive(ctx)
		}
		idle, closed := h.idle()
		switch {
		case closed:
			return false, nil
		case !idle:
			bored = nil
		case bored == nil:
			bored = time.After(linger)
		}
		select {
		case <-h.kick:
		case <-bored:
			return false, nil // a watch that comes now starts the next connection
		case err := <-r.failed:
			receiving = false
			return false, err
		case <-ticker.C:
			if r.heard.Swap(false) {
				unanswered = 0
				continue
			}
			if unanswered == 2 {
				return false, errSilent
			}
			unanswered++
			if err := h.ping(ctx, pubsub); err != nil {
				return false, err
			}
		}
	}
}

// change subscribes to add and unsubscribes from drop.
func (h *hub) change(ctx context.Context, pubsub *redis.PubSub, subscribed map[string]struct{}, add, drop []string) (err error) {
	reason := h.lane.guard(func() {
		if len(drop) > 0 {
			err = pubsub.Unsubscribe(ctx, drop...)
		}
		if err == nil && len(add) > 0 {
			err = pubsub.Subscribe(ctx, add...)
		}
	})
	if reason != nil {
		return &panicError{reason}
	}
	for _, channel := range drop {
		delete(subscribed, channel)
	}
	for _, channel := range add {
		subscribed[channel] = struct{}{}
	}
	return err
}

func (h *hub) ping(ctx context.Context, pubsub *redis.PubSub) (err error) {
	if reason := h.lane.guard(func() { err = pubsub.Ping(ctx) }); reason != nil {
		return &panicError{reason}
	}
	return err
}

// receiver reads what arrives on a subscription.
type receiver struct {
	hub       *hub
	pubsub    *redis.PubSub
	heard     atomic.Bool // anything, since it was last asked
	confirmed atomic.Bool
	failed    chan error
}

// receive runs until the connection fails or is closed. It reads without a
// time-out, which could cut a message in two: silence is for the pings to find.
func (r *receiver) receive(ctx context.Context) {
	for {
		var message any
		var err error
		if reason := r.hub.lane.guard(func() { message, err = r.pubsub.ReceiveTimeout(ctx, 0) }); reason != nil {
			err = &panicError{reason}
		}
		r.heard.Store(true)
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				if !r.confirmed.Swap(true) && r.hub.health.down {
					r.hub.logger.Info("wake-ups from Redis are back")
				}
				r.hub.confirmed(m.Channel)
			}
		case *redis.Message:
			r.hub.published(m.Channel, m.Payload)
		}
		// Without the right to ping, the refusal is as good as an answer.
		if err != nil && !(redis.IsPermissionError(err) && strings.Contains(err.Error(), "'ping'")) {
			r.failed <- err
			return
		}
	}
}
