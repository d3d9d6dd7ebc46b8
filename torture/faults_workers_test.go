package torture

import (
	"time"

	"github.com/actorlock/actorlock/internal/faultproxy"
)

var (
	kill = fault{"kill a worker", 0.5, func(r *round, w *worker, d time.Duration) {
		w.kill()
		time.Sleep(d)
		r.start(w, "")
		if err := w.hear("ready", time.Now().Add(patience)); err != nil {
			r.t.Error(err)
		}
	}}
	cut = fault{"cut a link", 0, func(_ *round, w *worker, _ time.Duration) { w.proxy.CutAll() }}
)

// gentleOnWorkers are faults during which the server keeps every key for its
// TTL: no two locks may be live at once, ever.
var gentleOnWorkers = []fault{
	kill, cut,
	{"stop a worker", 3, func(_ *round, w *worker, d time.Duration) {
		w.stop()
		time.Sleep(d)
		w.resume()
	}},
	lever("delay a link", 2, func(p *faultproxy.Proxy, d time.Duration) { p.Delay(d/8, d/10) }),
	lever("refuse connections", 1.5, func(p *faultproxy.Proxy, _ time.Duration) { p.Refuse(true) }),
	lever("swallow everything", 3, func(p *faultproxy.Proxy, _ time.Duration) { p.BlackHole(true) }),
	lever("hold replies", 2, func(p *faultproxy.Proxy, _ time.Duration) { p.HoldReplies(true) }),
	lever("swallow replies", 2, func(p *faultproxy.Proxy, _ time.Duration) { p.DropReplies(true) }),
	{"lose some replies", 0, func(_ *round, w *worker, _ time.Duration) {
		w.proxy.DropReplyOf(faultproxy.Containing("evalsha"), 3)
	}},
	{"commands come late", 1.5, func(_ *round, w *worker, d time.Duration) {
		w.proxy.StallRequestOf(faultproxy.Containing("evalsha"), 2, d)
	}},
}

// briefOnWorkers delay no command by much: beside them a lost key has to be
// noticed in time.
var briefOnWorkers = []fault{
	kill, cut,
	lever("delay a link a little", 2, func(p *faultproxy.Proxy, _ time.Duration) {
		p.Delay(2*time.Millisecond, 3*time.Millisecond)
	}),
}

// lever pulls one of the proxy's for a while.
func lever(name string, worst float64, pull func(p *faultproxy.Proxy, d time.Duration)) fault {
	return fault{name, worst, func(_ *round, w *worker, d time.Duration) {
		pull(w.proxy, d)
		time.Sleep(d)
		w.proxy.Heal()
	}}
}
