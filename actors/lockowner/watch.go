package lockowner

import (
	"sync/atomic"
	"time"
)

// watch is an owner's interest in the store's wake-ups.
type watch struct {
	stop    func()
	pending *atomic.Bool // a hint is in the mailbox; a flood of them is one
}

func (w *watch) watching() bool { return w.stop != nil }

// watchIf starts or stops watching the key.
func (o *owner) watchIf(want bool) {
	switch {
	case want && o.stop == nil && o.cfg.Store.Traits().WakeUps:
		pending := new(atomic.Bool)
		self, root, origin := o.self, o.cfg.System.Root, o.cfg.Origin
		o.pending = pending
		o.stop = o.cfg.Store.Watch(o.storeKey, func(from string) {
			// Our own releases are known here already.
			if from != origin && pending.CompareAndSwap(false, true) {
				root.Send(self, &woken{pending: pending, foreign: from != ""})
			}
		})
	case !want && o.stop != nil:
		o.stop()
		o.watch = watch{}
	}
}

// woken notes a hint that the key may be free.
func (o *owner) woken(m *woken) {
	m.pending.Store(false)
	if m.pending != o.pending || (o.state != waiting && o.state != acquiring) {
		return
	}
	o.hinted = true
	if m.foreign {
		o.notBefore = time.Time{} // another node has had the key
	}
}
