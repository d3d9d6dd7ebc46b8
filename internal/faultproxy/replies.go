package faultproxy

import (
	"bytes"
	"time"
)

// readUpstream takes in replies.
func (l *link) readUpstream() {
	buf := make([]byte, bufferSize)
	for {
		n, err := l.upstream.Read(buf)
		if n > 0 {
			l.takeReply(bytes.Clone(buf[:n]))
		}
		if err != nil {
			l.toClient.push(item{end: true, due: time.Now().Add(l.levers().delayDown)})
			return
		}
	}
}

// takeReply does to a reply what the rules want.
func (l *link) takeReply(data []byte) {
	l.p.mu.Lock()
	v := l.p.levers
	lose, delay, hits := l.answered()
	if lose {
		l.cut()
	}
	l.p.mu.Unlock()

	if !lose && !v.swallowsReplies() {
		l.toClient.push(item{data: data, due: time.Now().Add(v.delayDown + delay)})
	}
	for _, r := range hits {
		r.hits <- struct{}{}
	}
}

// answered settles the requests whose reply was due, all of them: the proxy
// cannot tell replies apart. p.mu is held.
func (l *link) answered() (lose bool, delay time.Duration, hits []*rule) {
	for _, it := range l.expected {
		if it.stray && l.strays > 0 {
			l.strays--
			l.p.announce()
		}
		for _, r := range it.reply {
			hits = append(hits, r)
			lose = lose || r.kind == dropReply
			delay = max(delay, r.delay)
		}
	}
	l.expected = nil
	return lose, delay, hits
}

// writeClient passes replies on when they are due and nothing keeps them.
func (l *link) writeClient() {
	for {
		it, ok := l.toClient.pop(l.ctx.Done())
		if !ok || !l.sleepUntil(it.due) {
			return
		}
		if it.end {
			if l.awaitLevers(func(v levers) bool { return !v.holdReplies && !v.swallowsReplies() }) == nil {
				l.finish(false)
			}
			return
		}
		// A swallowed reply need not wait for its release.
		if l.awaitLevers(func(v levers) bool { return !v.holdReplies || v.swallowsReplies() }) != nil {
			return
		}
		if l.levers().swallowsReplies() {
			continue
		}
		n, _ := l.client.Write(it.data) // readClient sees the error as well
		l.p.mu.Lock()
		l.p.down += int64(n)
		l.p.mu.Unlock()
	}
}
