package faultproxy

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	patience = 5 * time.Second        // for what is to happen
	aWhile   = 40 * time.Millisecond  // for what is not
	stall    = 200 * time.Millisecond // long enough to look at what is stalled
)

// echo is an upstream that answers every line with the line and hangs up when
// its client does.
type echo struct {
	net.Listener
	lines chan string   // what it was sent
	left  chan struct{} // receives when a client has hung up
}

func newEcho(t *testing.T) *echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e := &echo{Listener: l, lines: make(chan string, 1000), left: make(chan struct{}, 1000)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { e.answer(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return e
}

func (e *echo) answer(conn net.Conn) {
	defer func() { e.left <- struct{}{} }()
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		e.lines <- line
		if _, err := conn.Write([]byte(line)); err != nil {
			return
		}
	}
}

// client talks to an echo.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *client {
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &client{Conn: conn, t: t, in: bufio.NewReader(conn)}
}

// wantRefused wants a new connection to be reset, which may show as early as in
// the dial.
func wantRefused(t *testing.T, p *Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return
	}
	defer conn.Close()
	(&client{Conn: conn, t: t, in: bufio.NewReader(conn)}).wantCut()
}

func (c *client) send(line string) {
	_, err := c.Write([]byte(line + "\n"))
	require.NoError(c.t, err)
}

func (c *client) receive(within time.Duration) (string, error) {
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(within)))
	return c.in.ReadString('\n')
}

func (c *client) wantReply(line string) {
	c.t.Helper()
	got, err := c.receive(patience)
	require.NoError(c.t, err)
	require.Equal(c.t, line+"\n", got)
}

func (c *client) wantSilence() {
	c.t.Helper()
	_, err := c.receive(aWhile)
	require.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
}

func (c *client) wantCut() {
	c.t.Helper()
	_, err := c.receive(patience)
	require.Error(c.t, err)
	require.False(c.t, errors.Is(err, os.ErrDeadlineExceeded), "still connected")
}

// next waits for something to come out of ch.
func next[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing has happened")
		panic("unreachable")
	}
}

// settled waits until no stalled request is under way.
func settled(t *testing.T, p *Proxy) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, p.AwaitStalled(ctx))
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, time.Millisecond)
}

// pair is a proxy in front of an echo and a client whose connection works.
func pair(t *testing.T) (*Proxy, *echo, *client) {
	e := newEcho(t)
	p := New(t, e.Addr().String())
	c := dial(t, p)
	c.send("hello")
	c.wantReply("hello")
	next(t, e.lines)
	return p, e, c
}
