package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// node is one manager. In a real cluster each would be a process of its own.
type node struct {
	*actorlock.Manager
	name string
}

// cluster is a few nodes on one store.
type cluster struct {
	nodes  []*node
	stores []*redisstore.Store // of the nodes, to be closed after them

	// steal puts another value under a key, whoever holds it, behind the back of
	// all nodes. Nothing but this needs more than a manager.
	steal func(ctx context.Context, key, value string, ttl time.Duration) error
}

// openCluster starts three nodes: in memory, or on a Redis server.
func openCluster(redisURL string) (_ *cluster, err error) {
	c := &cluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	suffix := ""
	open := func() (lease.Store, error) { return nil, nil }
	if redisURL == "" {
		shared := memstore.New()
		open = func() (lease.Store, error) { return shared, nil }
		c.steal = func(_ context.Context, key, value string, ttl time.Duration) error {
			shared.Steal(key, value, ttl)
			return nil
		}
	} else {
		// Several copies may run: the names tell whose node is meant.
		suffix = fmt.Sprintf("@%d", os.Getpid())
		open = func() (lease.Store, error) {
			s, err := redisstore.Open(redisURL)
			if err == nil {
				c.stores = append(c.stores, s)
			}
			return s, err
		}
		c.steal = func(ctx context.Context, key, value string, ttl time.Duration) error {
			return stealFromRedis(ctx, redisURL, key, value, ttl)
		}
	}
	for _, name := range []string{"north", "east", "west"} {
		store, err := open()
		if err != nil {
			return c, err
		}
		n := &node{name: name + suffix}
		n.Manager, err = actorlock.New(actorlock.Config{
			Store: store,
			Node:  n.name,
			// A lost lock is worth a warning in an application's log. Here the
			// output tells of it already.
			Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		})
		if err != nil {
			return c, err
		}
		c.nodes = append(c.nodes, n)
	}
	return c, nil
}

func stealFromRedis(ctx context.Context, url, key, value string, ttl time.Duration) error {
	opt, err := redis.ParseURL(url)
	if err != nil {
		return errors.New("the Redis URL is not understood")
	}
	client := redis.NewClient(opt)
	return errors.Join(client.Set(ctx, key, value, ttl).Err(), client.Close())
}

// close stops all nodes, which releases whatever they still hold, then closes
// the stores. Both may be repeated.
func (c *cluster) close() error {
	// A context of its own: the caller's may have ended, and the keys are to be
	// released all the same.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.Shutdown(ctx))
	}
	for _, s := range c.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
