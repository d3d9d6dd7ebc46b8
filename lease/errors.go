package lease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	Attempts int           // made, of the call's budget; 0 after Shutdown or Drain
	Waited   time.Duration // since the call's first attempt
	Holder   string        // node id of the holder last seen, "" when unknown
	// TTL is what the holder's key has left: 0 not seen, NoExpiry when it has
	// none. A holder that is well extends it, so this is not how long it stays.
	TTL time.Duration
	// Err is ErrHeld, ErrTooManyWaiters, the store's error (ErrTooFewReplicas
	// within it), ErrNoReply, ErrLeaseExpired (the lock came too late to be
	// believed in), ErrShutdown, or the context's error and cause (joined with
	// ErrHeld when the key was last seen held).
	Err error
}

func (e *AcquireError) Error() string {
	s := fmt.Sprintf("acquire lock %s: %s (attempts: %d, waited: %v", strconv.Quote(e.Key), oneLine(e.Err), e.Attempts, e.Waited.Round(time.Millisecond))
	if e.Holder != "" {
		s += ", holder: " + strconv.Quote(e.Holder)
	}
	switch {
	case e.TTL == NoExpiry:
		s += ", its key has no expiry and must be deleted by hand"
	case e.TTL > 0:
		s += fmt.Sprintf(", its key expires in %v unless extended", e.TTL.Round(time.Millisecond))
	}
	return s + ")"
}

func (e *AcquireError) Unwrap() error { return e.Err }

// oneLine is the text of err, in which errors.Join puts every part on a line of
// its own, as a log wants it.
func oneLine(err error) string {
	return strings.ReplaceAll(fmt.Sprint(err), "\n", "; ")
}

// LockLostError says that a lock was lost while its callback was running. It
// unwraps to Err and to Callback.
type LockLostError struct {
	Key string
	// Err says why: ErrLeaseGone, ErrLeaseTaken, ErrLeaseExpired,
	// ErrHeldTooLong, ErrShutdown, ErrReleased (a nested call outlived the
	// outer one) or the store's error.
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
	Keys []string // without the manager's prefix, sorted
	Err  error    // why they were left
}

// Error names a few of the keys; Keys has them all.
func (e *ShutdownError) Error() string {
	const few = 3
	named := e.Keys[:min(few, len(e.Keys))]
	more := ""
	if len(e.Keys) > few {
		more = fmt.Sprintf(" and %d more", len(e.Keys)-few)
	}
	return fmt.Sprintf("shutdown left %q%s to expire: %s", named, more, oneLine(e.Err))
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
