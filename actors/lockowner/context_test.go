package lockowner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

var errParent = errors.New("the parent's own")

// contract 3.3: what ends first is the cause, and looking at the context early,
// late or never makes no difference.
func TestHoldContextTellsWhatCameFirst(t *testing.T) {
	for name, c := range map[string]struct {
		first func(*Hold, context.CancelCauseFunc)
		cause error
		err   error
	}{
		"hold":   {func(h *Hold, _ context.CancelCauseFunc) { h.end(lease.ErrReleased) }, lease.ErrReleased, context.Canceled},
		"parent": {func(_ *Hold, cancel context.CancelCauseFunc) { cancel(errParent) }, errParent, context.Canceled},
	} {
		for _, looked := range []bool{true, false} {
			h := lasting(time.Minute)
			parent, cancel := context.WithCancelCause(t.Context())
			ctx := h.Bind(parent)
			if looked {
				require.NoError(t, ctx.Err(), name)
			}
			c.first(h, cancel)
			h.Release() // made by who runs the callback
			h.end(lease.ErrReleased)
			cancel(errParent)
			require.Equal(t, c.cause, context.Cause(ctx), "%s, looked %v", name, looked)
			require.Equal(t, c.err, ctx.Err(), "%s, looked %v", name, looked)
			<-ctx.Done()
			require.Equal(t, c.cause, context.Cause(h.Context()))
		}
	}
}

// contract 3.3: a parent's deadline, values and end are those of the context.
func TestHoldContextIsAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, 1), time.Second)
		defer cancel()
		h := lasting(time.Minute)
		require.Nil(t, h.Context())
		ctx := h.Bind(parent)
		require.Equal(t, 1, ctx.Value(key{}))
		want, _ := parent.Deadline()
		got, ok := ctx.Deadline()
		require.True(t, ok)
		require.Equal(t, want, got)
		child, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan struct{})
		context.AfterFunc(ctx, func() { close(ended) })
		time.Sleep(time.Second)
		<-ended
		<-child.Done()
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		require.ErrorIs(t, child.Err(), context.DeadlineExceeded)
		h.end(lease.ErrReleased)
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	})
}

// contract 3.3: whoever sees that the hold has ended sees its context cancelled,
// and the other way round there is a cause at once.
func TestHoldContextEndsWhileLookedAt(t *testing.T) {
	for range 500 {
		h := lasting(time.Minute)
		ctx := h.Bind(t.Context())
		go h.end(lease.ErrReleased)
		<-ctx.Done()
		require.Equal(t, lease.ErrReleased, context.Cause(ctx))
		h.mu.Lock()
		require.True(t, h.released())
		h.mu.Unlock()
	}
}
