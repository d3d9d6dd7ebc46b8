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

// contract 3.4: the token that came with the lease is the first, then blocks.
func TestTokenSupply(t *testing.T) {
	var s tokens
	require.False(t, s.left())
	s.fresh = 100
	require.True(t, s.left())
	used, reserved := s.unused()
	require.Zero(t, used+reserved, "nothing was reserved")
	require.EqualValues(t, 100, s.take())
	require.False(t, s.left())

	last, size := uint64(100), 0
	for first := uint64(200); first < 1e6; first += 100_000 {
		n := s.nextBlock()
		require.GreaterOrEqual(t, n, max(size, firstBlock))
		require.LessOrEqual(t, n, max(2*size, firstBlock), "it grows with use")
		require.LessOrEqual(t, n, maxBlock)
		size = n
		s.add(first, n)
		used, reserved = s.unused()
		require.Equal(t, []uint64{first - 1, first + uint64(n) - 1}, []uint64{used, reserved})
		for i := range n {
			require.True(t, s.left())
			token := s.take()
			require.Equal(t, first+uint64(i), token)
			require.Greater(t, token, last)
			last = token
		}
		require.False(t, s.left())
		used, reserved = s.unused()
		require.Zero(t, used+reserved, "all are used")
	}
	require.Equal(t, maxBlock, size)
	s.add(2e6, 10)
	s.take()
	used, reserved = s.unused()
	require.Equal(t, []uint64{2e6, 2e6 + 9}, []uint64{used, reserved})
}

func lasting(ttl time.Duration) *Hold {
	h := &Hold{call: &Acquire{Key: "k"}, tenure: &tenure{cfg: &Config{Origin: "o"}}}
	h.tenure.term.Begin(time.Now(), ttl)
	return h
}

// contract 5.3: after the process was stopped the first look at the context sees
// the loss, before anything else has had its turn.
func TestHoldContextComparesTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := lasting(time.Second)
		ctx := h.Bind(t.Context())
		require.NoError(t, ctx.Err())
		time.Sleep(989 * time.Millisecond) // nobody renews, and no actor looks
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		var lost *lease.LockLostError
		require.True(t, errors.As(context.Cause(ctx), &lost))
		require.Equal(t, "k", lost.Key)
		require.Equal(t, lease.ErrLeaseExpired, lost.Err)
		<-ctx.Done()
		require.True(t, h.tenure.term.Over(), "a late extension revives nothing")
		require.False(t, h.tenure.term.Confirm(time.Now(), time.Now(), time.Hour))
		require.Equal(t, context.Cause(ctx), h.Ended(time.Now()))
		require.Nil(t, LineageOf(ctx).Find("other", "k"))
		require.False(t, LineageOf(ctx).Live("o", time.Now()))
	})
}

// contract 3.3: what ends a hold first is its cause for good, whether it comes
// before or after the context was made.
func TestHoldEndsOnce(t *testing.T) {
	for _, first := range []error{lease.ErrReleased, &lease.LockLostError{Key: "k", Err: lease.ErrShutdown}} {
		for _, early := range []bool{false, true} {
			h := lasting(time.Minute)
			if early {
				h.end(first)
			}
			ctx := h.Bind(t.Context())
			h.end(first)
			h.end(errors.New("later"))
			require.Equal(t, first, context.Cause(ctx))
			require.Equal(t, first, h.Ended(time.Now()))
			require.Equal(t, first == lease.ErrReleased, LineageOf(ctx).Find("o", "k") == nil, "contract 6.3")
		}
	}
}

// contract 6.1, 6.4: who is found in a lineage.
func TestLineage(t *testing.T) {
	a, b := lasting(time.Minute), lasting(time.Minute)
	b.call.Key = "b"
	inA := a.Bind(t.Context())
	inB := b.Bind(inA)
	again := Reenter(inB, a)
	require.Nil(t, LineageOf(t.Context()).Find("o", "k"))
	require.Nil(t, LineageOf(t.Context()).Hold())
	for _, ctx := range []context.Context{inB, again, context.WithoutCancel(again)} {
		require.Same(t, a, LineageOf(ctx).Find("o", "k"))
		require.Same(t, b, LineageOf(ctx).Find("o", "b"))
		require.Nil(t, LineageOf(ctx).Find("o", "c"))
		require.Nil(t, LineageOf(ctx).Find("another manager", "k"))
	}
	require.Same(t, b, LineageOf(inB).Hold())
	require.Same(t, a, LineageOf(again).Hold())
	a.end(lease.ErrReleased)
	require.Nil(t, LineageOf(again).Find("o", "k"))
	require.True(t, LineageOf(again).Live("o", time.Now()), "b is")
	b.end(b.lost(lease.ErrLeaseGone))
	require.Same(t, b, LineageOf(again).Find("o", "b"), "a loss is told to who asks")
	require.False(t, LineageOf(again).Live("o", time.Now()))
}
