package faultproxy

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy passes the connections it accepts on to one upstream.
type Proxy struct {
	upstream string
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever something below changes
	levers   levers
	rules    []*rule
	links    map[*link]struct{}
	accepted int
	up, down int64
	closed   bool
}

// New starts a proxy for upstream (host:port) that is closed when the test ends.
func New(t testing.TB, upstream string) *Proxy {
	t.Helper()
	p, err := Open(upstream)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Open is New for programs that are not tests. The caller closes the proxy.
func Open(upstream string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		upstream: upstream,
		listener: l,
		changed:  make(chan struct{}),
		links:    make(map[*link]struct{}),
	}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close cuts every connection, forgets what is still held back, and returns once
// nothing of the proxy runs any more. It may be called more than once.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	for l := range p.links {
		l.end(true)
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.running.Wait()
	return err
}

// Connections returns how many clients are connected now.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for l := range p.links {
		if !l.clientGone {
			n++
		}
	}
	return n
}

// Accepted returns how many connections there have been in all, those included
// that were refused.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Bytes returns how much was passed on, to the upstream and to the clients.
func (p *Proxy) Bytes() (up, down int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up, p.down
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		switch {
		case err == nil:
			p.admit(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // out of file descriptors, say; others will free some
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (p *Proxy) admit(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		reset(conn)
		return
	}
	p.accepted++
	defer p.announce()
	if p.levers.refuse {
		reset(conn)
		return
	}
	l := newLink(p, conn)
	p.links[l] = struct{}{}
	p.running.Go(l.readClient)
	p.running.Go(l.serve)
}

// announce wakes everyone who waits for a change. p.mu is held.
func (p *Proxy) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}
