package main

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/report"
	"github.com/actorlock/actorlock/internal/warm"
)

// answerWithin bounds the wait for the answer to a future.
const answerWithin = 5 * time.Second

// hops is what messages cost: a question and its answer, there and back.
func hops() scenario {
	return scenario{
		name:  "hops",
		title: "a message and its reply, between a goroutine and …",
		note: "warm: the actor runs in goroutines that are kept, as all of this module's do. future: the framework's own way to ask.\n" +
			"  registry: answers itself, for a key without an owner. registry, owner: forwards to the owner of a held key.",
		base: "goroutine",
		open: func(ctx context.Context, b *bench) ([]contender, error) { return b.hops(ctx) },
	}
}

// question is answered by a reply channel, or to its sender where it has none.
type question struct{ reply chan struct{} }

func answerer(c actor.Context) {
	if q, ok := c.Message().(*question); ok {
		if q.reply == nil {
			c.Respond(struct{}{})
			return
		}
		q.reply <- struct{}{}
	}
}

// dispatcher runs an actor as those of this module are run.
type dispatcher struct{ pool *warm.Pool }

func (d dispatcher) Schedule(run func()) { d.pool.Go(warm.Func(run)) }
func (d dispatcher) Throughput() int     { return 300 }

func (b *bench) hops(ctx context.Context) ([]contender, error) {
	n, err := lockers.OpenLocal()
	if err != nil {
		return nil, err
	}
	held, err := n.Acquire(ctx, "held")
	if err != nil {
		_ = n.Close()
		return nil, err
	}
	pool := warm.New(1)
	root := n.System().Root
	plain := root.Spawn(actor.PropsFromFunc(answerer))
	kept := root.Spawn(actor.PropsFromFunc(answerer, actor.WithDispatcher(dispatcher{pool})))
	asked := goroutine()
	ask := func(to *actor.PID) func() error {
		return func() error {
			q := &question{make(chan struct{}, 1)}
			root.Send(to, q)
			<-q.reply
			return nil
		}
	}
	inspect := func(key string) func() error {
		return func() error {
			q := &lockowner.Inspect{Key: key, Reply: make(chan *lockowner.Inspected, 1)}
			root.Send(n.Registry(), q)
			<-q.Reply
			return nil
		}
	}
	contend := func(name string, op func() error) contender {
		return contender{
			name:  name,
			close: func() error { return nil },
			round: func(context.Context) (report.Sample, error) {
				t, err := repeat(b.microspan(), op)
				return t.sample(), err
			},
		}
	}
	all := []contender{
		contend("goroutine", func() error {
			q := &question{make(chan struct{}, 1)}
			asked <- q
			<-q.reply
			return nil
		}),
		contend("actor", ask(plain)),
		contend("actor, warm", ask(kept)),
		contend("actor, future", func() error {
			_, err := root.RequestFuture(plain, &question{}, answerWithin).Result()
			return err
		}),
		contend("registry", inspect("free")),
		contend("registry, owner", inspect("held")),
	}
	all[0].close = func() error {
		close(asked)
		root.Stop(plain)
		root.Stop(kept)
		pool.Close()
		// The node's own end is what matters here.
		_ = held.Release(context.Background())
		return n.Close()
	}
	return all, nil
}

// goroutine answers questions without an actor until its channel is closed.
func goroutine() chan *question {
	questions := make(chan *question)
	go func() {
		for q := range questions {
			q.reply <- struct{}{}
		}
	}()
	return questions
}
