package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

var errBoom = errors.New("boom")

func TestErrorTexts(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{
			&lease.AcquireError{Key: "orders:1", Attempts: 11, Waited: 2000400 * time.Microsecond, Err: lease.ErrHeld},
			`acquire lock "orders:1": lock is held (attempts: 11, waited: 2s)`,
		},
		{
			&lease.AcquireError{Key: "k\n\xff", Attempts: 1, Holder: "host\"1", TTL: 1500*time.Millisecond + 17, Err: lease.ErrHeld},
			`acquire lock "k\n\xff": lock is held (attempts: 1, waited: 0s, holder: "host\"1", its key expires in 1.5s unless extended)`,
		},
		{
			&lease.AcquireError{Key: "k", Attempts: 2, TTL: lease.NoExpiry, Err: lease.ErrHeld},
			`acquire lock "k": lock is held (attempts: 2, waited: 0s, its key has no expiry and must be deleted by hand)`,
		},
		{
			&lease.LockLostError{Key: "k", Err: lease.ErrLeaseTaken},
			`lock "k" lost: lease was taken`,
		},
		{
			&lease.LockLostError{Key: "k", Err: lease.ErrLeaseGone, Callback: errBoom},
			`lock "k" lost: lease is gone (callback: boom)`,
		},
		{
			&lease.PanicError{Value: 42, Stack: []byte("goroutine 7")},
			"panic in callback: 42\n\ngoroutine 7",
		},
		{
			&lease.ShutdownError{Keys: []string{"a", "b"}, Err: errBoom},
			`shutdown left ["a" "b"] to expire: boom`,
		},
		{
			&lease.ShutdownError{Keys: []string{"a", "b", "c", "d", "e"}, Err: errors.Join(errBoom, errBoom)},
			`shutdown left ["a" "b" "c"] and 2 more to expire: boom; boom`,
		},
		{
			&lease.AcquireError{Key: "k", Err: errors.Join(context.Canceled, lease.ErrHeld)},
			`acquire lock "k": context canceled; lock is held (attempts: 0, waited: 0s)`,
		},
		{
			&lease.ConfigError{Field: "TTL", Reason: "must be at least 1ms"},
			"invalid configuration: TTL must be at least 1ms",
		},
		{
			&lease.StoreError{Op: "extend", Kind: lease.NotExecuted, Err: errBoom},
			"extend: boom",
		},
	}
	for _, tt := range tests {
		assert.EqualError(t, tt.err, tt.want)
	}
}

func TestErrorsUnwrap(t *testing.T) {
	store := &lease.StoreError{Op: "release", Err: errBoom}
	both := errors.Join(context.DeadlineExceeded, lease.ErrHeld)
	tests := []struct {
		name string
		err  error
		is   []error
		not  []error
	}{
		{
			"acquire: held", &lease.AcquireError{Err: lease.ErrHeld},
			[]error{lease.ErrHeld}, []error{lease.ErrLeaseExpired, context.DeadlineExceeded},
		},
		{
			"acquire: ended by ctx while held", &lease.AcquireError{Err: both},
			[]error{lease.ErrHeld, context.DeadlineExceeded}, []error{context.Canceled},
		},
		{
			"acquire: store", &lease.AcquireError{Err: store},
			[]error{errBoom, store}, []error{lease.ErrHeld},
		},
		{
			"lost", &lease.LockLostError{Err: lease.ErrLeaseGone},
			[]error{lease.ErrLeaseGone}, []error{lease.ErrLeaseTaken, errBoom},
		},
		{
			"lost, with the callback's error", &lease.LockLostError{Err: store, Callback: context.Canceled},
			[]error{errBoom, context.Canceled}, []error{lease.ErrLeaseGone},
		},
		{
			"lost, without a reason", &lease.LockLostError{},
			nil, []error{lease.ErrLeaseGone},
		},
		{
			"panic with an error", &lease.PanicError{Value: fmt.Errorf("wrapped: %w", errBoom)},
			[]error{errBoom}, []error{lease.ErrHeld},
		},
		{
			"panic with a string", &lease.PanicError{Value: "boom"},
			nil, []error{errBoom},
		},
		{
			"shutdown", &lease.ShutdownError{Err: both},
			[]error{context.DeadlineExceeded}, []error{lease.ErrShutdown},
		},
		{
			"config", &lease.ConfigError{Field: "TTL"},
			[]error{lease.ErrInvalidConfig}, []error{lease.ErrHeld},
		},
		{
			"store around config", &lease.StoreError{Err: &lease.ConfigError{Field: "TTL"}},
			[]error{lease.ErrInvalidConfig}, []error{errBoom},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := fmt.Errorf("outer: %w", tt.err)
			for _, target := range tt.is {
				assert.ErrorIs(t, err, target)
			}
			for _, target := range tt.not {
				assert.NotErrorIs(t, err, target)
			}
		})
	}
}

func TestErrorsAs(t *testing.T) {
	config := &lease.ConfigError{Field: "Key", Reason: "must not be empty"}
	lost := &lease.LockLostError{Key: "k", Err: &lease.StoreError{Op: "extend", Err: config}}

	got, ok := errors.AsType[*lease.ConfigError](&lease.AcquireError{Err: lost})
	require.True(t, ok)
	assert.Same(t, config, got)

	inner := &lease.LockLostError{Key: "inner", Err: lease.ErrReleased}
	outer := &lease.LockLostError{Key: "outer", Err: lease.ErrLeaseGone, Callback: inner}
	got2, ok := errors.AsType[*lease.LockLostError](outer)
	require.True(t, ok)
	assert.Equal(t, "outer", got2.Key, "the error itself comes before the callback's")
	assert.ErrorIs(t, outer, lease.ErrReleased)
}

func TestSentinelsDiffer(t *testing.T) {
	all := []error{
		lease.ErrHeld, lease.ErrLeaseGone, lease.ErrLeaseTaken, lease.ErrLeaseExpired, lease.ErrReleased,
		lease.ErrShutdown, lease.ErrInvalidConfig, lease.ErrNoTokens, lease.ErrNoReply,
	}
	texts := map[string]bool{}
	for i, a := range all {
		assert.False(t, texts[a.Error()], "%v", a)
		texts[a.Error()] = true
		for j, b := range all {
			assert.Equal(t, i == j, errors.Is(a, b), "%v, %v", a, b)
		}
	}
}

func TestKindOf(t *testing.T) {
	assert.Equal(t, lease.Unknown, lease.KindOf(nil))
	assert.Equal(t, lease.Unknown, lease.KindOf(errBoom))
	for _, kind := range []lease.Kind{lease.Unknown, lease.NotExecuted, lease.Permanent} {
		err := &lease.AcquireError{Err: &lease.StoreError{Op: "acquire", Kind: kind, Err: errBoom}}
		assert.Equal(t, kind, lease.KindOf(err))
	}
}

func TestIsLoss(t *testing.T) {
	assert.True(t, lease.IsLoss(lease.ErrLeaseGone))
	assert.True(t, lease.IsLoss(fmt.Errorf("extend: %w", lease.ErrLeaseTaken)))
	for _, err := range []error{nil, errBoom, lease.ErrLeaseExpired, lease.ErrHeld, lease.ErrShutdown} {
		assert.False(t, lease.IsLoss(err), "%v", err)
	}
}
