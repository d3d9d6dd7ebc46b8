package redisstore

import (
	"context"
	"slices"
	"sync"
)

const (
	// leaders is how many round trips of a lane are under way at a time, before
	// further commands queue up for a common one.
	leaders = 2
	// batchSize bounds what goes out together.
	batchSize = 256
)

// combiner sends the commands of concurrent callers together: whoever finds a
// leader's place free sends its own at once; whatever queues up meanwhile goes
// out as one pipeline, sent by the first in the queue when a leader returns. So
// a lone caller waits for nobody, nobody does more than one round trip for
// others, and neither timers nor goroutines are needed. The idea is that of
// flat combining (Hendler, Incze, Shavit, Tzafrir, 2010).
//
// Its mutex is held for moments only: on a machine whose processors are all busy
// whoever holds it may be stopped, and then everybody waits.
type combiner struct {
	mu      sync.Mutex
	leading int
	queue   []*job
	size    int       // of the queue, in commands
	jobs    sync.Pool // that nobody else knows of any more
}

// job is a caller's commands in the queue.
type job struct {
	cmds []*command
	turn chan bool // true: lead the next round trip; false: it has been made

	others []*job // of the round trip that it leads; kept for its capacity
}

// do has cmds sent by trip, with others' or alone, and returns when the round
// trip has been made. It reports false when ctx ended while they were queued:
// they have not been sent and never will be.
func (k *combiner) do(ctx context.Context, cmds []*command, trip func(context.Context, []*command)) bool {
	k.mu.Lock()
	if k.leading < leaders {
		k.leading++
		k.mu.Unlock()
		defer k.next()
		trip(ctx, cmds)
		return true
	}
	j, _ := k.jobs.Get().(*job)
	if j == nil {
		j = &job{turn: make(chan bool, 1)}
	}
	j.cmds = cmds
	k.queue = append(k.queue, j)
	k.size += len(cmds)
	k.mu.Unlock()
	var lead bool
	select {
	case lead = <-j.turn:
	case <-ctx.Done():
		if k.remove(j) {
			return false
		}
		lead = <-j.turn
	}
	if lead {
		k.lead(ctx, j, trip)
	}
	j.cmds = nil
	k.jobs.Put(j)
	return true
}

// lead sends j's commands and those of whoever else waits.
func (k *combiner) lead(ctx context.Context, j *job, trip func(context.Context, []*command)) {
	k.take(j)
	n := len(j.cmds)
	for _, o := range j.others {
		n += len(o.cmds)
	}
	cmds := append(make([]*command, 0, n), j.cmds...)
	for _, o := range j.others {
		cmds = append(cmds, o.cmds...)
	}
	defer k.next()
	defer func() {
		for i, o := range j.others {
			j.others[i] = nil
			o.turn <- false
		}
	}()
	// The end of one caller's context is no business of the others.
	trip(context.WithoutCancel(ctx), cmds)
}

// take moves the queue, as far as a batch goes, to j's others.
func (k *combiner) take(j *job) {
	k.mu.Lock()
	defer k.mu.Unlock()
	room := batchSize - len(j.cmds)
	if k.size <= room {
		j.others, k.queue, k.size = k.queue, j.others[:0], 0
		return
	}
	n := 0
	for room -= len(k.queue[n].cmds); room >= 0; room -= len(k.queue[n].cmds) {
		n++
	}
	j.others = append(j.others[:0], k.queue[:n]...)
	k.drop(n)
}

// next gives the leader's place to the first in the queue, or up.
func (k *combiner) next() {
	if j := k.heir(); j != nil {
		j.turn <- true
	}
}

func (k *combiner) heir() *job {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) == 0 {
		k.leading--
		return nil
	}
	j := k.queue[0]
	k.drop(1)
	return j
}

// drop takes the first n out of the queue.
func (k *combiner) drop(n int) {
	for _, j := range k.queue[:n] {
		k.size -= len(j.cmds)
	}
	m := copy(k.queue, k.queue[n:])
	clear(k.queue[m:])
	k.queue = k.queue[:m]
}

// remove takes j out of the queue, if it is still there.
func (k *combiner) remove(j *job) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.Index(k.queue, j)
	if i >= 0 {
		k.queue = slices.Delete(k.queue, i, i+1)
		k.size -= len(j.cmds)
	}
	return i >= 0
}
