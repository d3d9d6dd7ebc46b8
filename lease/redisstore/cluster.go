package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// byServer groups cmds by the server of a cluster that they go to: in one
// pipeline a server that hangs would hold up the verdicts of all the others.
// It is only a guess, the cluster client finds the right one in the end.
func (l *lane) byServer(ctx context.Context, op string, cmds []*command) [][]*command {
	cluster, ok := l.client.(*redis.ClusterClient)
	if !ok || len(cmds) == 1 {
		return [][]*command{cmds}
	}
	var groups [][]*command
	err := l.await(ctx, op, func(ctx context.Context) {
		l.guard(func() { groups = byMaster(ctx, cluster, cmds) })
	})
	if err != nil || len(groups) == 0 {
		return [][]*command{cmds} // the sending will tell what is wrong
	}
	return groups
}

// byMaster keeps the order of the commands within each group. Those whose
// server is not known are one group.
func byMaster(ctx context.Context, cluster *redis.ClusterClient, cmds []*command) [][]*command {
	var groups [][]*command
	at := map[*redis.Client]int{}
	for _, c := range cmds {
		master, err := cluster.MasterForKey(ctx, c.key)
		if err != nil {
			master = nil
		}
		i, ok := at[master]
		if !ok {
			i = len(groups)
			at[master] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// lookAround has the client of a cluster find out who has which slots, when
// commands ended with no word from their server: a replica may take its place.
// By itself the client looks every minute, or when a server sends it elsewhere,
// which one that is gone does not.
func (l *lane) lookAround(ctx context.Context, cmds []*command) {
	cluster, ok := l.client.(*redis.ClusterClient)
	if !ok {
		return
	}
	for _, c := range cmds {
		var reply redis.Error
		if err := c.Err(); err != nil && !errors.As(err, &reply) && !isPanic(err) {
			cluster.ReloadState(ctx) // in the background, and not too often
			return
		}
	}
}
