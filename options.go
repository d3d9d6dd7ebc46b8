package actorlock

import (
	"log/slog"
	"time"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/lease"
	"github.com/asynkron/protoactor-go/actor"
)

// Config configures a Manager. The zero value is ready to use: a node with an
// in-memory store of its own.
type Config struct {
	// Store carries the locks. nil: a private in-memory store.
	Store lease.Store
	// Node is the readable id of this node in lock values and errors; default
	// host-pid-random. It need not be unique.
	Node string
	// Prefix stands before every key in the store; default none. Keys in
	// errors and leases are without it.
	Prefix string
	// Defaults are options for every call of this manager; those of the call
	// itself come after them.
	Defaults []Option
	// Logger gets everything that the manager has to say; nil: slog.Default().
	Logger *slog.Logger
	// FailAfterShutdown has calls return ErrShutdown at once after Shutdown or
	// Drain, instead of waiting for their ctx to end.
	FailAfterShutdown bool
	// PollerGap is how long a key is left free after each turn (50 ms) of
	// hand-overs between callers of this node, for waiters elsewhere that only
	// poll and are not seen otherwise. Default 0: not at all.
	PollerGap time.Duration
	// System is an actor system to live in; nil: one of its own. Shutdown stops
	// only the manager's part of it.
	System *actor.ActorSystem
}

// RetryForever, given to RetryAttempts, sets no limit.
const RetryForever = lockowner.Forever

// Policy says what a store's error does to a held lock; see OnRedisError.
type Policy = lease.Policy

// Policies for OnRedisError.
const (
	// LoseAtOnce: the first extension that fails loses the lock. The default.
	LoseAtOnce = lease.LoseAtOnce
	// RetryUntilDeadline: extensions are tried again, with back-off, for as
	// long as the lease's deadline lasts.
	RetryUntilDeadline = lease.RetryUntilDeadline
)

// Option sets one property of a call, or of all calls by Config.Defaults. A bad
// value is reported by the call, as ErrInvalidConfig with the option's name.
type Option func(*settings)

type settings struct {
	lockowner.Ask
	await bool
	err   error
}

func defaults() settings {
	return settings{Ask: lockowner.Ask{
		TTL:      30 * time.Second,
		Attempts: 10,
		Delay:    200 * time.Millisecond,
		HandOver: true,
		Fencing:  true,
	}}
}

func (s *settings) refuse(field, reason string) {
	if s.err == nil {
		s.err = &lease.ConfigError{Field: field, Reason: reason}
	}
}

func (s *settings) apply(opts []Option) {
	for _, o := range opts {
		if o != nil {
			o(s)
		}
	}
}

// TTL is the lock's time to live, cut to whole milliseconds; default 30 s. It is
// extended in the background for as long as the lock is held, so it bounds only
// how long a crashed holder keeps others out. Refused below 1 ms and above
// lease.MaxTTL (a hundred years); below 100 ms a busy machine may lose it.
func TTL(d time.Duration) Option {
	return func(s *settings) {
		if d < time.Millisecond || d > lease.MaxTTL {
			s.refuse("TTL", "must be from 1 ms to 100 years")
			return
		}
		s.Ask.TTL = lease.WholeMillis(d)
	}
}

// RetryAttempts is how many attempts follow the first one while the lock is held
// by somebody else or the store fails; default 10. 0 makes a single attempt,
// RetryForever sets no limit. Other negative values are refused.
//
// A store's error that will not pass, such as a wrong password, ends the call at
// once. While the store is slow, an attempt that comes due counts as made.
func RetryAttempts(n int) Option {
	return func(s *settings) {
		if n < 0 && n != RetryForever {
			s.refuse("RetryAttempts", "must not be negative, except RetryForever")
			return
		}
		s.Attempts = n
	}
}

// RetryDelay is the time between attempts; default 200 ms. A little less is
// taken at random, at most a tenth; less than 1 ms counts as 1 ms. Negative
// values are refused.
func RetryDelay(d time.Duration) Option {
	return func(s *settings) {
		if d < 0 {
			s.refuse("RetryDelay", "must not be negative")
			return
		}
		s.Delay = d
	}
}

// Wait bounds the wait for the lock, not the hold. The call gives up, with
// ErrHeld, after d or when its attempts are used up, whichever comes first:
// add RetryAttempts(RetryForever) for d alone to decide. Refused unless above 0.
func Wait(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			s.refuse("Wait", "must be above 0; RetryAttempts(0) does not wait")
			return
		}
		s.Ask.Wait = d
	}
}

// OnRedisError says what a store's error does to a held lock; default
// LoseAtOnce. Values other than the two policies are refused.
func OnRedisError(p Policy) Option {
	return func(s *settings) {
		if p != LoseAtOnce && p != RetryUntilDeadline {
			s.refuse("OnRedisError", "is not a known policy")
			return
		}
		s.Policy = p
	}
}

// AwaitCallback makes WithLock wait for its callback before it reports that the
// lock was lost. The callback's context is cancelled all the same. Its value is
// returned beside the *LockLostError, whose Callback is its error.
func AwaitCallback() Option { return func(s *settings) { s.await = true } }

// HandOver says whether the lease may pass from caller to caller of this node
// without being released in between; default true. It needs the consent of both.
func HandOver(enabled bool) Option { return func(s *settings) { s.Ask.HandOver = enabled } }

// Fencing says whether a fencing token is minted with the lock; default true.
// Without it the token is 0.
func Fencing(enabled bool) Option { return func(s *settings) { s.Ask.Fencing = enabled } }

// MaxHold bounds how long the lock is held, so that a callback that hangs does
// not keep it for ever: after d it is lost like any other lost lock, with the
// cause ErrHeldTooLong. The key becomes free when the callback returns, or with
// its TTL. Default: no bound. Refused unless above 0.
func MaxHold(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			s.refuse("MaxHold", "must be above 0")
			return
		}
		s.Ask.MaxHold = d
	}
}

// MaxWaiters bounds the calls that wait for the key on this node: a call that
// finds n of them is refused at once, with ErrTooManyWaiters. Default: no bound.
// Refused below 1.
func MaxWaiters(n int) Option {
	return func(s *settings) {
		if n < 1 {
			s.refuse("MaxWaiters", "must be at least 1; RetryAttempts(0) does not wait")
			return
		}
		s.Ask.MaxWaiters = n
	}
}

// shortTTL is the TTL below which the floor of half the TTL is not promised.
const shortTTL = 100 * time.Millisecond
