package faultproxy

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDropReplyOf(t *testing.T) {
	p, e, c := pair(t)
	lost := p.DropReplyOf(Containing("SET"), 2)

	c.send("get")
	c.wantReply("get")
	next(t, e.lines)

	for range 2 {
		c.send("set")
		next(t, lost)
		require.Equal(t, "set\n", next(t, e.lines), "it got there")
		c.wantCut()
		c = dial(t, p)
	}
	c.send("set")
	c.wantReply("set")
	require.Empty(t, lost)
}

func TestStallReplyOf(t *testing.T) {
	p, e, c := pair(t)
	arrived := p.StallReplyOf(Containing("set"), 1, stall)

	began := time.Now()
	c.send("set")
	next(t, arrived)
	require.Len(t, e.lines, 1)
	c.wantReply("set")
	require.GreaterOrEqual(t, time.Since(began), stall)
}

func TestStallRequestOf(t *testing.T) {
	for name, leave := range map[string]func(*Proxy, *client){
		"client stays":   func(*Proxy, *client) {},
		"client leaves":  func(_ *Proxy, c *client) { _ = c.Close() },
		"client is cut":  func(p *Proxy, _ *client) { p.CutAll() },
		"client refused": func(p *Proxy, _ *client) { p.Refuse(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, e, c := pair(t)
			held := p.StallRequestOf(Containing("set"), 1, stall)
			began := time.Now()
			c.send("set")
			next(t, held)
			require.Empty(t, e.lines)
			leave(p, c)

			settled(t, p)
			require.GreaterOrEqual(t, time.Since(began), stall)
			require.Equal(t, "set\n", next(t, e.lines))
			if name == "client stays" {
				c.wantReply("set")
			} else {
				next(t, e.left)
				require.Zero(t, p.Connections())
			}
		})
	}
}

func TestStalledRequestInBlackHoleIsLost(t *testing.T) {
	p, e, c := pair(t)
	held := p.StallRequestOf(Containing("set"), 1, stall)
	c.send("set")
	next(t, held)
	p.BlackHole(true)
	settled(t, p)
	require.Empty(t, e.lines)
}

func TestAwaitStalledGivesUpWithItsContext(t *testing.T) {
	p, _, c := pair(t)
	held := p.StallRequestOf(Containing("set"), 1, time.Hour)
	c.send("set")
	next(t, held)
	ctx, cancel := context.WithTimeout(t.Context(), aWhile)
	defer cancel()
	require.ErrorIs(t, p.AwaitStalled(ctx), context.DeadlineExceeded)
}

func TestRulesOfDifferentKindsCombine(t *testing.T) {
	p, e, c := pair(t)
	held := p.StallRequestOf(Containing("set"), 1, stall)
	lost := p.DropReplyOf(Containing("set"), 1)
	spare := p.DropReplyOf(Containing("set"), 1)

	c.send("set")
	next(t, held)
	require.Empty(t, e.lines)
	next(t, lost)
	require.Equal(t, "set\n", next(t, e.lines))
	require.Empty(t, spare, "one of each kind")
	c.wantCut()
}

func TestMatchMayUseTheProxy(t *testing.T) {
	p, _, c := pair(t)
	seen := make(chan int, 1)
	p.StallReplyOf(func([]byte) bool { seen <- p.Connections(); return true }, 1, 0)
	c.send("x")
	c.wantReply("x")
	require.Equal(t, 1, next(t, seen))
}
