package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock/lease"
)

// panicError is the error of a command during which the client panicked.
type panicError struct{ reason any }

func (e *panicError) Error() string { return fmt.Sprintf("the Redis client panicked: %v", e.reason) }

// notSentError is the error of a command whose context ended while it queued.
type notSentError struct{ err error }

func (e *notSentError) Error() string { return "not sent: " + e.err.Error() }
func (e *notSentError) Unwrap() error { return e.err }

// failure is the error of a command that has its result, nil when it has none.
// Its kind is that of the last send, unless an earlier one is in doubt.
func (c *command) failure(op string) error {
	err := c.Err()
	if err == nil {
		return nil
	}
	if undone, ok := err.(*lease.StoreError); ok {
		return undone // after the reply, which was good
	}
	kind, _ := judge(err)
	if c.doubt {
		kind = lease.Unknown
	}
	return &lease.StoreError{Op: op, Kind: kind, Err: discreet(err)}
}

// discreet cuts off what a server repeats of a command that it does not know: of
// AUTH or HELLO, that is the password.
func discreet(err error) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	if text, _, found := strings.Cut(err.Error(), ", with args beginning with"); found {
		return replyError(text)
	}
	return err
}

// replyError is a server's error, in our own words.
type replyError string

func (e replyError) Error() string { return string(e) }
func (e replyError) RedisError()   {} // makes it a redis.Error

// lost is a verdict that a lease is not ours any more, with the step that found it.
func lost(op string, why error) error {
	return &lease.StoreError{Op: op, Kind: lease.Permanent, Err: why}
}

// unexpected is the error of a command whose reply makes no sense.
func (c *command) unexpected(op string) error {
	return &lease.StoreError{Op: op, Err: fmt.Errorf("unexpected reply %T", c.Val())}
}

// judge tells what an error says of the one send that it ended, and whether it
// is likely to pass soon. None of the scripts can fail after it has done what
// it is there for, so an error that the server sent means "not executed".
func judge(err error) (kind lease.Kind, passing bool) {
	var reply redis.Error
	var op *net.OpError
	var unsent *notSentError
	switch {
	case errors.As(err, &unsent):
		return lease.NotExecuted, false
	case errors.As(err, &reply):
		switch code(reply.Error()) {
		case "NOAUTH", "WRONGPASS", "NOPERM", "CROSSSLOT", "WRONGTYPE":
			return lease.Permanent, false
		case "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MOVED", "ASK":
			return lease.NotExecuted, true
		}
		return lease.NotExecuted, redis.IsMaxClientsError(err)
	case errors.Is(err, redis.ErrClosed):
		return lease.Permanent, false
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.As(err, &op) && op.Op == "dial":
		return lease.NotExecuted, true
	case isPanic(err), errors.Is(err, context.Canceled):
		return lease.Unknown, false
	}
	return lease.Unknown, true
}

// code is the first word of a server's error. Servers before 7.0 wrap an error
// that a script ran into: "ERR Error running script (call to f_…):
// @user_script:5: WRONGTYPE Operation …", some with a dash before the code.
func code(text string) string {
	if _, inner, found := strings.Cut(text, "@user_script:"); found && strings.HasPrefix(text, "ERR Error running script") {
		if i := strings.LastIndex(inner, "@user_script:"); i >= 0 {
			inner = inner[i:]
		}
		if _, rest, ok := strings.Cut(inner, ": "); ok {
			text = strings.TrimPrefix(rest, "-")
		}
	}
	word, _, _ := strings.Cut(text, " ")
	if word == "ERR" && strings.Contains(text, "user executing the script can't run this command") {
		return "NOPERM"
	}
	return word
}

func isPanic(err error) bool {
	_, ok := errors.AsType[*panicError](err)
	return ok
}
