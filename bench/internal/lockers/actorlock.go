package lockers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// closeWithin bounds the end of a node.
const closeWithin = 30 * time.Second

// Node is one of our managers, with a store of its own.
type Node struct {
	*actorlock.Manager
	store *redisstore.Store // nil: in memory
}

// Actorlock is this module on a store made by redisstore.Open, with the given
// options over the defaults. It waits as long as it takes, as every Locker does.
func Actorlock(name string, options ...actorlock.Option) Kind {
	return Configured(name, actorlock.Config{Defaults: options})
}

// Configured is Actorlock with a whole configuration.
func Configured(name string, cfg actorlock.Config) Kind {
	return Kind{name, func(s Setup) (Locker, error) { return OpenNode(s, cfg) }}
}

// InMemory is this module without a server.
func InMemory() Kind {
	return Kind{NameActorlock, func(Setup) (Locker, error) { return OpenLocal() }}
}

// OpenNode opens a manager on the server of s.
func OpenNode(s Setup, cfg actorlock.Config) (*Node, error) {
	logger := slog.New(slog.DiscardHandler)
	store, err := redisstore.Open("redis://"+s.Addr+"/0", redisstore.Logger(logger))
	if err != nil {
		return nil, err
	}
	cfg.Store, cfg.Logger = store, logger
	cfg.FailAfterShutdown = true // nothing here is cancelled before it is closed
	cfg.Defaults = slices.Concat([]actorlock.Option{
		actorlock.TTL(s.TTL), actorlock.RetryAttempts(actorlock.RetryForever),
	}, cfg.Defaults)
	m, err := actorlock.New(cfg)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Node{Manager: m, store: store}, nil
}

// OpenLocal opens a manager on a private in-memory store.
func OpenLocal() (*Node, error) {
	m, err := actorlock.New(actorlock.Config{
		Logger:   slog.New(slog.DiscardHandler),
		Defaults: []actorlock.Option{actorlock.RetryAttempts(actorlock.RetryForever)},
	})
	return &Node{Manager: m}, err
}

// Do implements Locker.
func (n *Node) Do(ctx context.Context, key string, section func(context.Context) error) error {
	return n.WithLock(ctx, key, section)
}

// Close implements Locker.
func (n *Node) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err := n.Shutdown(ctx)
	if n.store != nil {
		err = errors.Join(err, n.store.Close())
	}
	return err
}
