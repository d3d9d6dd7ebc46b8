package faultproxy

import (
	"bytes"
	"slices"
	"time"
)

// A match function looks at the bytes of one Read from a client. It may be called
// concurrently, and it neither keeps nor changes the bytes.
type match = func(request []byte) bool

type kind int

const (
	dropReply kind = iota
	stallReply
	stallRequest
)

// rule looks out for requests.
type rule struct {
	kind  kind
	match match
	left  int // how many more requests it applies to
	delay time.Duration
	hits  chan struct{}
}

// verdict is what the rules make of one request.
type verdict struct {
	stall *rule         // holds the request back
	reply []*rule       // what is to be done about its reply
	delay time.Duration // of the request
}

// DropReplyOf loses the replies to the next n requests that match: each request
// is passed on, and once its reply has arrived from the upstream, the connection
// is cut instead. The channel receives once per lost reply, after the cut.
//
// A request counts for at most one DropReplyOf, one StallReplyOf and one
// StallRequestOf, whichever of each kind came first. Losing its reply takes
// precedence over stalling it. What BlackHole swallows matches nothing.
func (p *Proxy) DropReplyOf(match func(request []byte) bool, n int) <-chan struct{} {
	return p.addRule(dropReply, match, n, 0)
}

// StallReplyOf delays the replies to the next n requests that match by d, and
// with them what follows on the same connection. The channel receives once per
// reply, when it has arrived from the upstream and its delay begins.
func (p *Proxy) StallReplyOf(match func(request []byte) bool, n int, d time.Duration) <-chan struct{} {
	return p.addRule(stallReply, match, n, d)
}

// StallRequestOf holds the next n requests that match back for d, and with them
// what follows on the same connection, and then passes them on, even when the
// client has gone meanwhile: a stray command. The channel receives once per
// request, when its delay begins. AwaitStalled tells when they have got through.
func (p *Proxy) StallRequestOf(match func(request []byte) bool, n int, d time.Duration) <-chan struct{} {
	return p.addRule(stallRequest, match, n, d)
}

// Containing matches requests that contain text, in capitals or not. Redis
// commands can be told by their name in this way.
func Containing(text string) func(request []byte) bool {
	lower := bytes.ToLower([]byte(text))
	return func(request []byte) bool {
		return bytes.Contains(bytes.ToLower(request), lower)
	}
}

func (p *Proxy) addRule(k kind, m match, n int, d time.Duration) <-chan struct{} {
	n = max(n, 0)
	// With room for every hit, so that nobody need listen.
	r := &rule{kind: k, match: m, left: n, delay: d, hits: make(chan struct{}, n)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
	return r.hits
}

// judge applies the rules to a request of l and registers it as a stray if it is
// to be stalled.
func (p *Proxy) judge(l *link, request []byte) verdict {
	p.mu.Lock()
	rules := slices.Clone(p.rules)
	p.mu.Unlock()
	// Outside the lock: a match function may use the proxy.
	rules = slices.DeleteFunc(rules, func(r *rule) bool { return !r.match(request) })

	p.mu.Lock()
	defer p.mu.Unlock()
	var v verdict
	var taken [3]bool
	for _, r := range rules {
		if taken[r.kind] || r.left == 0 || !slices.Contains(p.rules, r) {
			continue
		}
		taken[r.kind] = true
		r.left--
		if r.kind == stallRequest {
			v.stall, v.delay = r, r.delay
			l.strays++
		} else {
			v.reply = append(v.reply, r)
		}
	}
	p.rules = slices.DeleteFunc(p.rules, func(r *rule) bool { return r.left == 0 })
	return v
}
