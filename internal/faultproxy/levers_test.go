package faultproxy

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPassThrough(t *testing.T) {
	p, e, c := pair(t)
	require.Equal(t, 1, p.Connections())
	require.Equal(t, 1, p.Accepted())
	eventually(t, func() bool {
		up, down := p.Bytes()
		return up == 6 && down == 6
	})

	require.NoError(t, c.Close())
	next(t, e.left)
	eventually(t, func() bool { return p.Connections() == 0 })
	require.Equal(t, 1, p.Accepted())
}

func TestUpstreamThatIsDown(t *testing.T) {
	e := newEcho(t)
	p := New(t, e.Addr().String())
	require.NoError(t, e.Close())
	wantRefused(t, p)
	eventually(t, func() bool { return p.Connections() == 0 })
}

func TestDelay(t *testing.T) {
	p, _, c := pair(t)
	const up, down = 30 * time.Millisecond, 20 * time.Millisecond
	p.Delay(up, down)

	began := time.Now()
	c.send("slow")
	c.wantReply("slow")
	require.GreaterOrEqual(t, time.Since(began), up+down)

	p.Delay(0, 0)
	c.send("fast")
	c.wantReply("fast")
}

func TestDelayedDataIsDeliveredAfterTheClientLeft(t *testing.T) {
	p, e, c := pair(t)
	p.Delay(aWhile, 0)
	c.send("last words")
	require.NoError(t, c.Close())
	require.Equal(t, "last words\n", next(t, e.lines))
	next(t, e.left)
}

func TestBlackHole(t *testing.T) {
	p, e, c := pair(t)
	p.BlackHole(true)
	c.send("lost")
	c.wantSilence()
	inside := dial(t, p)
	inside.send("lost")
	inside.wantSilence()
	require.Empty(t, e.lines)

	p.BlackHole(false)
	c.send("found")
	c.wantReply("found")
	inside.send("found")
	inside.wantReply("found")
}

func TestBlackHoleHidesTheEnd(t *testing.T) {
	p, e, c := pair(t)
	p.BlackHole(true)
	require.NoError(t, c.Close())
	eventually(t, func() bool { return p.Connections() == 0 })
	require.Empty(t, e.left)
	p.BlackHole(false)
	next(t, e.left)
}

func TestHoldReplies(t *testing.T) {
	p, e, c := pair(t)
	p.HoldReplies(true)
	c.send("one")
	c.send("two")
	next(t, e.lines)
	next(t, e.lines)
	c.wantSilence()

	p.HoldReplies(false)
	c.wantReply("one")
	c.wantReply("two")
}

func TestDropReplies(t *testing.T) {
	p, e, c := pair(t)
	p.DropReplies(true)
	c.send("one")
	next(t, e.lines)
	c.wantSilence()

	p.DropReplies(false)
	c.send("two")
	c.wantReply("two")
}

func TestCutAll(t *testing.T) {
	p, e, c := pair(t)
	p.CutAll()
	c.wantCut()
	next(t, e.left)
	require.Zero(t, p.Connections())

	again := dial(t, p)
	again.send("again")
	again.wantReply("again")
}

func TestRefuse(t *testing.T) {
	p, _, c := pair(t)
	p.Refuse(true)
	c.wantCut()
	wantRefused(t, p)
	eventually(t, func() bool { return p.Accepted() == 2 })

	p.Refuse(false)
	again := dial(t, p)
	again.send("again")
	again.wantReply("again")
}

func TestHeal(t *testing.T) {
	p, _, c := pair(t)
	p.BlackHole(true)
	p.Delay(time.Hour, time.Hour)
	p.HoldReplies(true)
	hits := p.DropReplyOf(Containing("x"), 1)
	p.Heal()
	c.send("x")
	c.wantReply("x")
	require.Empty(t, hits)
}

func TestCloseWithEverythingPending(t *testing.T) {
	e := newEcho(t)
	p, err := Open(e.Addr().String())
	require.NoError(t, err)
	held := p.StallRequestOf(Containing("stalled"), 1, time.Hour)
	stalled := dial(t, p)
	stalled.send("stalled")
	next(t, held)
	p.CutAll()
	p.HoldReplies(true)
	dial(t, p).send("held")
	require.Equal(t, "held\n", next(t, e.lines))
	p.Delay(time.Hour, time.Hour)
	dial(t, p).send("delayed")
	p.BlackHole(true)
	dial(t, p).send("swallowed")

	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "again")
	require.Zero(t, p.Connections())
	require.Empty(t, e.lines)
	_, err = net.Dial("tcp", p.Addr())
	require.Error(t, err)
}

func TestLeversFromManyGoroutines(t *testing.T) {
	e := newEcho(t)
	p := New(t, e.Addr().String())
	var all sync.WaitGroup
	for _, pull := range []func(bool){
		p.BlackHole, p.HoldReplies, p.DropReplies, p.Refuse,
		func(bool) { p.CutAll() },
		func(bool) { p.Delay(time.Microsecond, time.Microsecond) },
		func(bool) { p.DropReplyOf(Containing("x"), 1) },
		func(bool) { p.StallRequestOf(Containing("x"), 1, time.Microsecond) },
		func(bool) { p.StallReplyOf(Containing("x"), 1, time.Microsecond) },
		func(bool) { p.Connections(); p.Accepted(); p.Bytes() },
		func(bool) {
			if conn, err := net.Dial("tcp", p.Addr()); err == nil {
				_, _ = conn.Write([]byte("x\n"))
				_ = conn.Close()
			}
		},
	} {
		all.Go(func() {
			for i := range 50 {
				pull(i%2 == 0)
			}
		})
	}
	all.Wait()
	p.Heal()

	c := dial(t, p)
	c.send("fine")
	c.wantReply("fine")
	settled(t, p)
}
