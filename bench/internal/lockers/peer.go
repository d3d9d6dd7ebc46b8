package lockers

import (
	"context"
	"errors"
	"time"
)

// errLost is the cause of a section's context after its lock was lost.
var errLost = errors.New("lock lost")

// held is a peer's lock while it is held.
type held interface {
	// extend sets the TTL anew. false without an error: the lock is lost.
	extend(ctx context.Context) (bool, error)
	release(ctx context.Context) error
}

// peer makes a Locker of what a library offers.
type peer struct {
	setup   Setup
	acquire func(ctx context.Context, key string) (held, error) // waits
	close   func() error
}

// Do implements Locker.
func (p *peer) Do(ctx context.Context, key string, section func(context.Context) error) error {
	h, err := p.acquire(ctx, key)
	if err != nil {
		return err
	}
	if p.setup.KeepAlive {
		err = keepAlive(ctx, p.setup.TTL, h, section)
	} else {
		err = section(ctx)
	}
	// A lock whose section was cancelled is to be released all the same.
	return errors.Join(err, h.release(context.WithoutCancel(ctx)))
}

// Close implements Locker.
func (p *peer) Close() error { return p.close() }

// keepAlive runs section beside a goroutine that extends h every ttl/3. The
// section's context ends when h is lost, or may be: the least that makes such a
// lock worth having.
func keepAlive(ctx context.Context, ttl time.Duration, h held, section func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(ttl / 3)
		defer tick.Stop()
		for confirmed := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			sent := time.Now()
			switch ok, err := h.extend(ctx); {
			case ok:
				confirmed = sent
			case err == nil, time.Since(confirmed) >= ttl:
				cancel(errLost)
				return
			}
		}
	}()
	err := section(ctx)
	cancel(nil)
	<-ended // a late extension would outlive the release
	return err
}

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
