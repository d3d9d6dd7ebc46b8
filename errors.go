package actorlock

import (
	"time"

	"github.com/actorlock/actorlock/lease"
)

// Errors of the package lease, for callers that import only this one.
type (
	// AcquireError: the lock was not acquired, the callback was not run.
	AcquireError = lease.AcquireError
	// LockLostError: the lock was lost while the callback was running.
	LockLostError = lease.LockLostError
	// PanicError: the value that a callback's panic reaches the caller with.
	PanicError = lease.PanicError
	// ShutdownError: keys that Shutdown had to leave to expire.
	ShutdownError = lease.ShutdownError
)

// Errors to compare with errors.Is. The first five come within an *AcquireError,
// the next four within a *LockLostError; ErrLeaseExpired and ErrShutdown within
// either.
var (
	// ErrHeld: attempts or time were used up, and somebody else has the lock.
	ErrHeld = lease.ErrHeld
	// ErrTooManyWaiters: MaxWaiters others of this node were waiting.
	ErrTooManyWaiters = lease.ErrTooManyWaiters
	// ErrTooFewReplicas: too few replicas had the lock, which was given back.
	ErrTooFewReplicas = lease.ErrTooFewReplicas
	// ErrNoReply: the store has not answered in the time that the call had.
	ErrNoReply = lease.ErrNoReply
	// ErrLeaseExpired: the store's answer came too late, or none to extensions.
	ErrLeaseExpired = lease.ErrLeaseExpired

	// ErrLeaseGone: the key was deleted, or has expired.
	ErrLeaseGone = lease.ErrLeaseGone
	// ErrLeaseTaken: the key was overwritten, or somebody else has it.
	ErrLeaseTaken = lease.ErrLeaseTaken
	// ErrHeldTooLong: the lock was held for MaxHold.
	ErrHeldTooLong = lease.ErrHeldTooLong
	// ErrReleased: a nested call outlived the outer one. It is also the cause
	// of a callback's context after the callback has returned.
	ErrReleased = lease.ErrReleased

	// ErrShutdown: the manager was shut down, or is draining.
	ErrShutdown = lease.ErrShutdown
	// ErrInvalidConfig: an option, a key or a callback was refused.
	ErrInvalidConfig = lease.ErrInvalidConfig
)

// NoExpiry is the remaining time to live of a key that has none.
const NoExpiry time.Duration = lease.NoExpiry
