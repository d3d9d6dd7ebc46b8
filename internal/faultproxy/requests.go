package faultproxy

import (
	"bytes"
	"net"
	"time"
)

// bufferSize is far above the size of the requests that rules are made for.
const bufferSize = 64 << 10

// readClient takes in requests.
func (l *link) readClient() {
	buf := make([]byte, bufferSize)
	for {
		n, err := l.client.Read(buf)
		if v := l.levers(); n > 0 && !v.blackHole {
			l.takeRequest(bytes.Clone(buf[:n]), v.delayUp)
		}
		if err != nil {
			l.p.mu.Lock()
			l.leaveClient()
			l.p.mu.Unlock()
			l.toServer.push(item{end: true, due: time.Now().Add(l.levers().delayUp)})
			return
		}
	}
}

func (l *link) takeRequest(data []byte, delay time.Duration) {
	v := l.p.judge(l, data)
	l.toServer.push(item{
		data:  data,
		due:   time.Now().Add(delay + v.delay),
		stray: v.stall != nil,
		reply: v.reply,
	})
	if v.stall != nil {
		v.stall.hits <- struct{}{}
	}
}

// writeUpstream passes requests on when they are due.
func (l *link) writeUpstream() {
	for {
		it, ok := l.toServer.pop(l.ctx.Done())
		if !ok || !l.sleepUntil(it.due) {
			return
		}
		if it.end {
			l.endUpstream()
			return
		}
		if !l.expectReply(it) {
			continue
		}
		n, _ := l.upstream.Write(it.data) // readUpstream sees the error as well
		l.p.mu.Lock()
		l.p.up += int64(n)
		l.p.mu.Unlock()
	}
}

// expectReply prepares for the reply to a request, before it is sent: the reply
// may be faster than we are. It reports false for a request that a black hole
// has swallowed.
func (l *link) expectReply(it item) bool {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if l.p.levers.blackHole {
		if it.stray {
			l.strays--
			l.p.announce()
		}
		return false
	}
	if it.stray || len(it.reply) > 0 {
		l.expected = append(l.expected, it)
	}
	return true
}

// endUpstream tells the upstream that the client has gone. Only the sending half
// is closed: the upstream's own end then says that it has handled everything.
func (l *link) endUpstream() {
	if l.awaitLevers(func(v levers) bool { return !v.blackHole }) != nil {
		return
	}
	if tcp, ok := l.upstream.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

// sleepUntil reports false when the link has ended before.
func (l *link) sleepUntil(due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return l.ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ctx.Done():
		return false
	}
}
