package faultproxy

import (
	"context"
	"net"
)

// link is one client and its connection to the upstream.
//
// Two goroutines per direction move the data: one reads and decides, the other
// waits for the time and the levers, and writes.
type link struct {
	p        *Proxy
	client   net.Conn
	upstream net.Conn // set by serve, under p.mu
	toServer *queue
	toClient *queue
	ctx      context.Context // ends with the link
	cancel   context.CancelFunc

	// Guarded by p.mu.
	clientGone bool
	strays     int // requests of StallRequestOf that have not been answered yet
	expected   []item
}

func newLink(p *Proxy, client net.Conn) *link {
	ctx, cancel := context.WithCancel(context.Background())
	return &link{
		p: p, client: client,
		toServer: newQueue(), toClient: newQueue(),
		ctx: ctx, cancel: cancel,
	}
}

// serve connects to the upstream and then moves requests.
func (l *link) serve() {
	// Otherwise a client could tell from inside the hole that the upstream is down.
	if l.awaitLevers(func(v levers) bool { return !v.blackHole }) != nil {
		return
	}
	var d net.Dialer
	conn, err := d.DialContext(l.ctx, "tcp", l.p.upstream)
	if err != nil {
		l.finish(true)
		return
	}
	l.p.mu.Lock()
	if l.ctx.Err() != nil { // ended during the dial
		l.p.mu.Unlock()
		reset(conn)
		return
	}
	l.upstream = conn
	l.p.running.Go(l.readUpstream)
	l.p.running.Go(l.writeClient)
	l.p.mu.Unlock()
	l.writeUpstream()
}

// cut breaks the link for the client, and for the upstream too unless a stalled
// request still has to get there. p.mu is held.
func (l *link) cut() {
	if l.strays == 0 {
		l.end(true)
		return
	}
	reset(l.client)
	l.leaveClient()
}

// leaveClient notes that the client is not there any more. p.mu is held.
func (l *link) leaveClient() {
	if !l.clientGone {
		l.clientGone = true
		l.p.announce()
	}
}

// end closes both sides, abruptly or not. p.mu is held.
func (l *link) end(abruptly bool) {
	if l.ctx.Err() != nil {
		return
	}
	l.cancel()
	for _, conn := range []net.Conn{l.client, l.upstream} {
		switch {
		case conn == nil:
		case abruptly:
			reset(conn)
		default:
			_ = conn.Close()
		}
	}
	l.strays = 0
	delete(l.p.links, l)
	l.p.announce()
}

func (l *link) finish(abruptly bool) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.end(abruptly)
}

// awaitLevers waits until the levers are in the wanted position. It fails when
// the link ends.
func (l *link) awaitLevers(wanted func(levers) bool) error {
	return l.p.await(l.ctx, func() bool { return wanted(l.p.levers) })
}

func (l *link) levers() levers {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return l.p.levers
}

// reset closes a connection with a RST, so that its peer gets an error rather
// than a regular end.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
