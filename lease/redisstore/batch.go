package redisstore

import (
	"context"
	"sync"

	"github.com/actorlock/actorlock/lease"
)

const (
	// chunkSize is how many commands go into one pipeline.
	chunkSize = 256
	// abreast is how many pipelines of one batch go to a server at a time.
	abreast = 4
)

// Extend extends every lease in batch, in pipelines, on the client for
// renewals when there is one. A lost reply is asked for again: extending twice
// does no harm.
func (s *Store) Extend(ctx context.Context, batch []lease.Extension, report func(int, error)) {
	report = oneAtATime(report)
	cmds := make([]*command, 0, len(batch))
	millis := make([]int64, len(batch))
	for i := range batch {
		e := &batch[i]
		if err := check(e.Key, e.TTL); err != nil {
			report(i, err)
			continue
		}
		millis[i] = e.TTL.Milliseconds()
		c := call(ctx, extendScript, &e.Key, nil, &e.Value, &millis[i])
		c.item = i
		cmds = append(cmds, c)
	}
	s.renewals.batch(ctx, "extend", cmds, func(c *command, err error) {
		if err == nil {
			err = c.verdict("extend")
		}
		report(c.item, err)
	})
}

// Release releases every lease in batch, in pipelines, and publishes a wake-up
// for each. What is left of a block of tokens is given back right before. A
// certain release is not sent again unless it was certainly not executed.
func (s *Store) Release(ctx context.Context, batch []lease.Release, report func(int, error)) {
	if len(batch) == 1 && batch[0].Reserved == 0 {
		report(0, s.releaseOne(ctx, &batch[0]))
		return
	}
	report = oneAtATime(report)
	cmds := make([]*command, 0, len(batch))
	for i := range batch {
		r := &batch[i]
		if err := check(r.Key, lease.MaxTTL); err != nil {
			report(i, err)
			continue
		}
		if r.Reserved > 0 {
			fence := fenceKey(r.Key)
			c := call(ctx, giveBackScript, &fence, nil, r.Reserved, r.Used)
			c.once = r.Certain
			cmds = append(cmds, c)
		}
		c := newRelease(ctx, r)
		c.item = i
		cmds = append(cmds, c)
	}
	s.main.batch(ctx, "release", cmds, func(c *command, err error) { report(c.item, s.releaseVerdict(c, err)) })
}

// releaseOne releases one lease with one command, without more ado: most are.
func (s *Store) releaseOne(ctx context.Context, r *lease.Release) error {
	if err := check(r.Key, lease.MaxTTL); err != nil {
		return err
	}
	c := newRelease(ctx, r)
	return s.releaseVerdict(c, s.main.send(ctx, "release", c.alone[:]))
}

// newRelease makes the command of a release, in one piece with its arguments. r
// outlives it.
func newRelease(ctx context.Context, r *lease.Release) *command {
	c := &struct {
		command
		channel string
	}{channel: channelOf(r.Key)}
	c.call(ctx, releaseScript, &r.Key, nil, &r.Value, &c.channel, &r.Origin)
	c.once = r.Certain
	return &c.command
}

// releaseVerdict is the verdict of a release, whose sending ended with err.
func (s *Store) releaseVerdict(c *command, err error) error {
	if err != nil {
		return err
	}
	if refusal, ok := c.Val().(string); ok && c.Err() == nil {
		s.publishRefused(refusal)
		return nil
	}
	return c.verdict("release")
}

// verdict reads the result of the extend and release scripts.
func (c *command) verdict(op string) error {
	if err := c.failure(op); err != nil {
		return err
	}
	switch c.Val() {
	case int64(1):
		return nil
	case int64(0):
		return lost(op, lease.ErrLeaseGone)
	case int64(2):
		return lost(op, lease.ErrLeaseTaken)
	}
	return c.unexpected(op)
}

// oneAtATime keeps reports from overlapping: pipelines end whenever they end.
func oneAtATime(report func(int, error)) func(int, error) {
	var mu sync.Mutex
	return func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		report(i, err)
	}
}

// batch sends cmds in pipelines and settles each that bears a verdict exactly
// once, from any goroutine, as soon as its pipeline is through. The error is that of
// the sending; with nil the command has its result.
func (l *lane) batch(ctx context.Context, op string, cmds []*command, settle func(*command, error)) {
	if len(cmds) == 0 {
		return
	}
	if len(cmds) == 1 || len(cmds) == 2 && cmds[0].item < 0 { // one lease
		l.chunk(ctx, op, cmds, settle)
		return
	}
	groups := l.byServer(ctx, op, cmds)
	var all sync.WaitGroup
	for _, group := range groups {
		chunks := split(group)
		for w := range min(abreast, len(chunks)) {
			all.Go(func() {
				for i := w; i < len(chunks); i += abreast {
					l.chunk(ctx, op, chunks[i], settle)
				}
			})
		}
	}
	all.Wait()
}

// chunk sends one pipeline.
func (l *lane) chunk(ctx context.Context, op string, cmds []*command, settle func(*command, error)) {
	err := l.send(ctx, op, cmds)
	for _, c := range cmds {
		if c.item >= 0 {
			settle(c, err)
		}
	}
}

// split cuts cmds into pipelines. What goes before a command without a verdict
// of its own stays with it.
func split(cmds []*command) (chunks [][]*command) {
	for len(cmds) > chunkSize {
		n := chunkSize
		if cmds[n-1].item < 0 {
			n--
		}
		chunks, cmds = append(chunks, cmds[:n]), cmds[n:]
	}
	return append(chunks, cmds)
}
