package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// leaders is how many round trips of a lane are under way at a time, before
	// further commands queue up for a common one: so many that the server has the
	// next one when it is through with one, and so few that each carries much.
	leaders = 5
	// batchSize bounds what goes out together.
	batchSize = 256
	// stall is how long a queue waits for round trips that may hang before one
	// more sets out, as long as there are fewer than maxLeaders.
	stall      = 10 * time.Millisecond
	maxLeaders = 8
)

// combiner sends the commands of concurrent callers together: whatever queues up
// while round trips are under way goes out as one pipeline, sent by one of the
// callers. A lone caller waits for nobody, and nobody does more than one round
// trip for others. The idea is that of flat combining (Hendler, Incze, Shavit,
// Tzafrir, 2010).
//
// A round trip that sets out while others are under way takes its share of all
// commands: one that left with the first command that comes back would make the
// next one carry all the others, and then client and server wait for each other
// in turn. When the others return with too few behind them, it goes with what
// there is. Time plays a part only when round trips hang.
//
// Its mutex is held for moments only: on a machine whose processors are all busy
// whoever holds it may be stopped, and then everybody waits.
type combiner struct {
	mu      sync.Mutex
	leading int
	queue   []*job
	size    int          // of the queue, in commands
	trips   int          // that have set out
	sizes   [leaders]int // of the last of those, in commands
	jobs    sync.Pool    // that nobody else knows of any more

	watch   *time.Timer // nil before the first queue
	watched bool        // while it runs, which it does when there is a queue
	seen    int         // trips, when it began
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
	j, _ := k.jobs.Get().(*job)
	if j == nil {
		j = &job{turn: make(chan bool, 1)}
	}
	j.cmds = cmds
	lead := k.enter(j)
	if !lead {
		select {
		case lead = <-j.turn:
		case <-ctx.Done():
			if k.remove(j) {
				return false
			}
			lead = <-j.turn
		}
	}
	if lead {
		k.lead(ctx, j, trip)
	}
	j.cmds = nil
	k.jobs.Put(j)
	return true
}

// enter gives j a leader's place, which it reports, or queues it.
func (k *combiner) enter(j *job) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leading == 0 || k.leading < leaders && k.size+len(j.cmds) >= k.share() {
		k.leading++
		return true
	}
	k.queue = append(k.queue, j)
	k.size += len(j.cmds)
	if !k.watched {
		k.look()
	}
	return false
}

// share is what a round trip waits for while others are under way.
func (k *combiner) share() int {
	sum := leaders - 1 // rounds up
	for _, n := range k.sizes {
		sum += n
	}
	return min(sum/leaders, batchSize)
}

// lead sends j's commands and those of whoever else waits.
func (k *combiner) lead(ctx context.Context, j *job, trip func(context.Context, []*command)) {
	defer k.next()
	n := k.take(j)
	if len(j.others) == 0 {
		trip(ctx, j.cmds)
		return
	}
	cmds := append(make([]*command, 0, n), j.cmds...)
	for _, o := range j.others {
		cmds = append(cmds, o.cmds...)
	}
	defer func() {
		for i, o := range j.others {
			j.others[i] = nil
			o.turn <- false
		}
		j.others = j.others[:0]
	}()
	// The end of one caller's context is no business of the others.
	trip(context.WithoutCancel(ctx), cmds)
}

// take moves the queue, as far as a batch goes, to j's others, and returns how
// many commands that makes with j's own.
func (k *combiner) take(j *job) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, size := 0, len(j.cmds)
	for n < len(k.queue) && size+len(k.queue[n].cmds) <= batchSize {
		size += len(k.queue[n].cmds)
		n++
	}
	if n == len(k.queue) {
		j.others, k.queue, k.size = k.queue, j.others, 0
	} else {
		j.others = append(j.others, k.queue[:n]...)
		k.drop(n)
	}
	k.sizes[k.trips%leaders] = size
	k.trips++
	return size
}

// next gives the leader's place to the first in the queue, or up.
func (k *combiner) next() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size == 0 || k.leading > 1 && k.size < k.share() || k.leading > leaders {
		k.leading--
		return
	}
	k.call()
}

// call tells the first in the queue that it has a leader's place.
func (k *combiner) call() {
	j := k.queue[0]
	k.drop(1)
	j.turn <- true
}

// look begins to watch a queue.
func (k *combiner) look() {
	k.watched, k.seen = true, k.trips
	if k.watch == nil {
		k.watch = time.AfterFunc(stall, k.stalled)
		return
	}
	k.watch.Reset(stall)
}

// stalled is the watch's: a queue that nobody has taken from gets a leader.
func (k *combiner) stalled() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watched = false
	if len(k.queue) > 0 && k.trips == k.seen && k.leading < maxLeaders {
		k.leading++
		k.call()
	}
	if len(k.queue) > 0 {
		k.look()
	}
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
