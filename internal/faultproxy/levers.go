package faultproxy

import (
	"context"
	"time"
)

type levers struct {
	delayUp, delayDown time.Duration
	blackHole          bool
	holdReplies        bool
	dropReplies        bool
	refuse             bool
}

func (v levers) swallowsReplies() bool { return v.blackHole || v.dropReplies }

func (p *Proxy) set(change func(*levers)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.levers)
	p.announce()
}

// Delay makes everything that arrives from now on wait before it is passed on:
// up on its way to the upstream, down on its way to the client. It is latency,
// not throughput: what arrives together leaves together.
func (p *Proxy) Delay(up, down time.Duration) {
	p.set(func(v *levers) { v.delayUp, v.delayDown = up, down })
}

// BlackHole swallows everything in both directions: connections are accepted and
// read from, nothing is ever answered, and neither side learns that the other
// has gone. What was swallowed stays lost when the hole closes; connections then
// work again.
func (p *Proxy) BlackHole(on bool) {
	p.set(func(v *levers) { v.blackHole = on })
}

// HoldReplies passes requests on but keeps what comes back, and delivers it all
// when switched off.
func (p *Proxy) HoldReplies(on bool) {
	p.set(func(v *levers) { v.holdReplies = on })
}

// DropReplies passes requests on but swallows what comes back, the end of the
// connection included.
func (p *Proxy) DropReplies(on bool) {
	p.set(func(v *levers) { v.dropReplies = on })
}

// Refuse closes new connections at once, and cuts those there are like CutAll.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.levers.refuse = on
	if on {
		p.cutAll()
	}
	p.announce()
}

// CutAll resets every connection. Data under way is lost, but not a request that
// StallRequestOf holds back: its client is cut, and it still arrives in time.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutAll()
}

func (p *Proxy) cutAll() {
	for l := range p.links {
		l.cut()
	}
}

// Heal returns every lever to rest and forgets the requests that DropReplyOf,
// StallReplyOf and StallRequestOf still look out for. What is delayed or stalled
// already keeps its time.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.levers = levers{}
	p.rules = nil
	p.announce()
}

// AwaitStalled returns once no request of StallRequestOf is under way any more:
// each was passed on and answered by the upstream, or has lost its connection
// to it. The client need not be there any longer.
func (p *Proxy) AwaitStalled(ctx context.Context) error {
	return p.await(ctx, func() bool {
		for l := range p.links {
			if l.strays > 0 {
				return false
			}
		}
		return true
	})
}

// await returns once the condition, which is checked under p.mu, holds.
func (p *Proxy) await(ctx context.Context, holds func() bool) error {
	for {
		p.mu.Lock()
		ok, changed := holds(), p.changed
		p.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
