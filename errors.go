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

// Errors to compare with errors.Is; see the package lease.
var (
	ErrHeld           = lease.ErrHeld
	ErrLeaseGone      = lease.ErrLeaseGone
	ErrLeaseTaken     = lease.ErrLeaseTaken
	ErrLeaseExpired   = lease.ErrLeaseExpired
	ErrReleased       = lease.ErrReleased
	ErrShutdown       = lease.ErrShutdown
	ErrInvalidConfig  = lease.ErrInvalidConfig
	ErrHeldTooLong    = lease.ErrHeldTooLong
	ErrTooManyWaiters = lease.ErrTooManyWaiters
	ErrTooFewReplicas = lease.ErrTooFewReplicas
)

// NoExpiry is the remaining time to live of a key that has none.
const NoExpiry time.Duration = lease.NoExpiry
