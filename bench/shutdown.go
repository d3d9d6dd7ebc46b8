package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/bench/internal/lockers"
	"github.com/actorlock/actorlock/bench/internal/report"
)

// shutdown is the end of a node that holds many locks. Peers have no word for
// it: their sections are told to end, and each releases its own lock.
func shutdown(quick bool) scenario {
	n := 10_000
	s := scenario{
		base: lockers.NamePlain,
		cold: true,
		most: 5,
	}
	if quick {
		n, s.most = 1_000, 1
	}
	s.name = fmt.Sprint("shutdown/", n)
	s.title = fmt.Sprintf("end of a node that holds %d keys", n)
	s.note = "plain and the peers: all sections are ended at once, each releases its own. left: lock keys found afterwards."
	s.open = func(_ context.Context, b *bench) ([]contender, error) {
		var all []contender
		for _, k := range everybody() {
			all = append(all, contender{
				name:  k.Name,
				round: func(ctx context.Context) (report.Sample, error) { return b.shutdown(ctx, k, n) },
				close: func() error { return nil },
			})
		}
		return all, nil
	}
	return s
}

func (b *bench) shutdown(ctx context.Context, k lockers.Kind, n int) (report.Sample, error) {
	l, err := k.Open(b.setup())
	if err != nil {
		return nil, err
	}
	g := hold(ctx, l, n)
	before, err := b.server.Usage(ctx)
	if err != nil {
		g.end()
		return nil, errors.Join(err, l.Close())
	}
	begin := time.Now()
	node, ours := l.(*lockers.Node)
	if ours {
		err = node.Shutdown(ctx)
	}
	g.end()
	took := time.Since(begin)
	after, usageErr := b.server.Usage(ctx)
	left, leftErr := b.left(ctx, n)
	if e := g.err(); !errors.Is(e, actorlock.ErrShutdown) { // which is what ours are to be told
		err = errors.Join(err, e)
	}
	u := after.Since(before)
	return report.Sample{
		{Name: "time", Unit: "ms", Value: 1000 * took.Seconds(), Compare: true},
		{Name: "client CPU", Unit: "ms", Value: 1000 * u.Client.Seconds()},
		{Name: "server CPU", Unit: "ms", Value: 1000 * u.Server.Seconds()},
		{Name: "left", Value: left},
	}, errors.Join(err, usageErr, leftErr, l.Close())
}

// left is how many of the n keys of a group still stand.
func (b *bench) left(ctx context.Context, n int) (float64, error) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("held:", i)
	}
	found, err := b.server.Client().Exists(ctx, keys...).Result()
	return float64(found), err
}
