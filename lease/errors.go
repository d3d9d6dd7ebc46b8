package lease

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Errors to compare with errors.Is.
var (
	// ErrHeld: returned, within an AcquireError, when the budget of attempts or
	// the time to wait ended and the key was last seen held by somebody else.
	ErrHeld = errors.New("lock is held")
	// ErrLeaseGone: the key no longer exists, although the lease had not ended.
	ErrLeaseGone = errors.New("lease is gone")
	// ErrLeaseTaken: the key now holds somebody else's value.
	ErrLeaseTaken = errors.New("lease was taken")
	// ErrLeaseExpired: the lease's deadline passed with no word from the store.
	ErrLeaseExpired = errors.New("lease expired")
	// ErrReleased: the cause of a lock's context after its callback returned.
	ErrReleased = errors.New("lock released")
	// ErrShutdown: the manager was shut down, or is draining.
	ErrShutdown = errors.New("lock manager is shut down")
	// ErrInvalidConfig: a value of the caller's was refused; nothing was sent.
	ErrInvalidConfig = errors.New("invalid configuration")
	// ErrNoTokens: a foreign value stands where fencing tokens are stored.
	ErrNoTokens = errors.New("no fencing tokens can be reserved")
	// ErrHeldTooLong: a lock was lost since it was held for its MaxHold.
	ErrHeldTooLong = errors.New("lock was held for too long")
	// ErrTooManyWaiters: a call was refused since MaxWaiters others were waiting.
	ErrTooManyWaiters = errors.New("too many calls wait for the lock")
	// ErrTooFewReplicas: an acquire was undone, since too few replicas of the
	// store had it in time. Only a store that was told to look says so.
	ErrTooFewReplicas = errors.New("too few replicas have the lock")
	// ErrNoReply: no command was answered in the time that the call had.
	ErrNoReply = errors.New("no reply from the store")
)

// AcquireError says that a lock was not acquired and that the callback was not
// run. It unwraps to Err.
type AcquireError struct {
	Key      string
	Attempts int           // made, of the call's budget
	Waited   time.Duration // since the call's first attempt
	Holder   string        // node id of the holder last seen, "" when unknown
	TTL      time.Duration // of the holder's key: 0 not seen, NoExpiry when it has none
	// Err is ErrHeld, the store's error, ErrLeaseExpired, ErrNoReply, ErrShutdown, or the
	// context's error and cause (joined with ErrHeld when the key was last seen
	// held).
	Err error
}

func (e *AcquireError) Error() string {
	s := fmt.Sprintf("acquire lock %s: %v (attempts: %d, waited: %v", strconv.Quote(e.Key), e.Err, e.Attempts, e.Waited.Round(time.Millisecond))
	if e.Holder != "" {
		s += ", holder: " + strconv.Quote(e.Holder)
	}
	switch {
	case e.TTL == NoExpiry:
		s += ", its key has no expiry and must be deleted by hand"
	case e.TTL > 0:
		s += ", its key expires in " + e.TTL.String()
	}
	return s + ")"
}

func (e *AcquireError) Unwrap() error { return e.Err }

// LockLostError says that a lock was lost while its callback was running. It
// unwraps to Err and to Callback.
type LockLostError struct {
	Key string
	// Err says why: ErrLeaseGone, ErrLeaseTaken, ErrLeaseExpired, ErrShutdown,
	// ErrReleased (a nested call outlived the outer one) or the store's error.
	Err error
	// Callback is the callback's own error, when it had returned by then.
	Callback error
}

func (e *LockLostError) Error() string {
	s := fmt.Sprintf("lock %s lost: %v", strconv.Quote(e.Key), e.Err)
	if e.Callback != nil {
		s += fmt.Sprintf(" (callback: %v)", e.Callback)
	}
	return s
}

func (e *LockLostError) Unwrap() []error {
	if e.Callback == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Callback}
}

// PanicError is what a callback's panic is turned into when it is raised again
// in the caller's goroutine.
type PanicError struct {
	Value any    // what the callback passed to panic
	Stack []byte // of the callback's goroutine
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic in callback: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the panic's value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ShutdownError names the keys that a shutdown left to expire with their TTL.
type ShutdownError struct {
	Keys []string
	Err  error
}

func (e *ShutdownError) Error() string {
	return fmt.Sprintf("shutdown left %d key(s) to expire: %v", len(e.Keys), e.Err)
}

func (e *ShutdownError) Unwrap() error { return e.Err }

// ConfigError names the field that was refused. It is an ErrInvalidConfig.
type ConfigError struct {
	Field  string
	Reason string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%v: %s %s", ErrInvalidConfig, e.Field, e.Reason)
}

func (e *ConfigError) Unwrap() error { return ErrInvalidConfig }

// Kind is what is known of a command that ended with an error.
type Kind int

const (
	// Unknown: the command may or may not have been executed.
	Unknown Kind = iota
	// NotExecuted: it was not executed; trying again may help.
	NotExecuted
	// Permanent: it was not executed, and trying again will not help.
	Permanent
)

// StoreError is a store's error with what the store was doing. It names no
// key: the error around it does, as the caller knows it.
type StoreError struct {
	Op   string // "acquire", "extend", "release", …
	Kind Kind
	Err  error
}

func (e *StoreError) Error() string { return e.Op + ": " + e.Err.Error() }

func (e *StoreError) Unwrap() error { return e.Err }

// KindOf is the kind of a store's error, Unknown when it does not say.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*StoreError](err); ok {
		return e.Kind
	}
	return Unknown
}

// IsLoss reports whether an error is a store's verdict that a lease is no
// longer ours.
func IsLoss(err error) bool {
	return errors.Is(err, ErrLeaseGone) || errors.Is(err, ErrLeaseTaken)
}
