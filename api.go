// Package actorlock runs a function while it holds a lock, on one node of a
// whole cluster at a time.
//
//	value, err := actorlock.WithLock(ctx, manager, "report:rebuild",
//		func(ctx context.Context) (int, error) { return rebuild(ctx) })
//
// A Manager is one node: a small tree of actors with one owner for each key in
// use. Redis carries the locks (lease/redisstore), or memory, for one process
// and for tests (lease/memstore).
package actorlock

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/actorlock/actorlock/actors/lockowner"
	"github.com/actorlock/actorlock/actors/supervisor"
	"github.com/actorlock/actorlock/internal/warm"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
	"github.com/asynkron/protoactor-go/actor"
)

// Manager is a node: it has one actor system and one set of leases. It is safe
// for concurrent use. Make it with New, end it with Shutdown.
type Manager struct {
	cfg       Config
	defaults  settings
	node      *supervisor.Node
	gate      gate
	pool      *warm.Pool // callbacks
	shortTTL  sync.Once  // warned of
	closeOnce sync.Once
}

// New starts a manager. It fails with ErrInvalidConfig, naming the field, and
// contacts no server.
func New(cfg Config) (*Manager, error) {
	s := defaults()
	s.apply(cfg.Defaults)
	if s.err == nil && cfg.PollerGap < 0 {
		s.refuse("PollerGap", "must not be negative")
	}
	if s.err != nil {
		return nil, s.err
	}
	if cfg.Store == nil {
		cfg.Store = memstore.New()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Node == "" {
		cfg.Node = nodeID()
	}
	m := &Manager{cfg: cfg, defaults: s, pool: warm.New(maxWarm)}
	m.node = supervisor.Start(supervisor.Config{
		Store: cfg.Store, Node: cfg.Node, Prefix: cfg.Prefix, PollerGap: cfg.PollerGap,
		Log: cfg.Logger, System: cfg.System,
	})
	return m, nil
}

// maxWarm is how many goroutines are kept for the next callback, for a moment.
const maxWarm = 1024

func nodeID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return host + "-" + strconv.Itoa(os.Getpid()) + "-" + lease.NewID()[:8]
}

// System is the actor system that the manager lives in, for advanced callers.
func (m *Manager) System() *actor.ActorSystem { return m.node.System() }

// Registry is the actor that lockowner messages are sent to.
func (m *Manager) Registry() *actor.PID { return m.node.Registry() }

// LeaseFrom returns the lease that ctx, a callback's context or one that
// descends from it, was given: of nested locks the innermost. It does not say
// whether the lock is still held, as ctx.Err does. The lease is a snapshot; ask
// again for its current deadline, which is zero once the hold has ended.
func LeaseFrom(ctx context.Context) (lease.Lease, bool) {
	if ctx == nil {
		return lease.Lease{}, false
	}
	h := lockowner.LineageOf(ctx).Hold()
	if h == nil {
		return lease.Lease{}, false
	}
	return h.Lease(), true
}

// Info is what Inspect saw.
type Info struct {
	Held    bool
	Holder  string        // node id of the holder, "" when its value has none
	TTL     time.Duration // remaining; NoExpiry when the key has no expiry
	Token   uint64        // fencing token; 0 unless this manager holds the lock
	Waiters int           // calls of this manager that wait for the lock
}

// Inspect looks at a lock without touching it. It fails with ErrInvalidConfig
// for an empty key, ErrShutdown after Shutdown, and the store's error, for
// instance when the key is of another type. How long it may take is up to ctx and
// the time-outs of the store's client.
func (m *Manager) Inspect(ctx context.Context, key string) (Info, error) {
	if err := m.check(ctx, key); err != nil {
		return Info{}, err
	}
	fail := func(err error) (Info, error) { return Info{}, fmt.Errorf("inspect lock %q: %w", key, err) }
	if m.gate.state() == closed {
		return fail(ErrShutdown)
	}
	ask := &lockowner.Inspect{Key: key, Reply: make(chan *lockowner.Inspected, 1)}
	m.node.Send(ask)
	state, err := m.node.Look(ctx, m.cfg.Prefix+key)
	if err != nil {
		return fail(err)
	}
	select {
	case here := <-ask.Reply:
		info := Info{Held: state.Held, Holder: state.Holder, TTL: state.TTL, Waiters: here.Waiters}
		if state.Held && state.Holder == lease.Holder(m.cfg.Node+"/") {
			info.Token = here.Token // not that of a lock which we have lost without knowing
		}
		return info, nil
	case <-m.node.Done():
		return fail(ErrShutdown)
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	}
}

// check refuses what no call can work with.
func (m *Manager) check(ctx context.Context, key string) error {
	switch {
	case m == nil || m.node == nil:
		return &lease.ConfigError{Field: "Manager", Reason: "must be made with New"}
	case ctx == nil:
		return &lease.ConfigError{Field: "ctx", Reason: "must not be nil"}
	case key == "":
		return &lease.ConfigError{Field: "key", Reason: "must not be empty"}
	}
	return nil
}

// settings are a call's options over the manager's. They may be the manager's
// own, and are not to be changed.
func (m *Manager) settings(opts []Option) (*settings, error) {
	s := &m.defaults
	if len(opts) > 0 {
		s = new(*s)
		s.apply(opts)
	}
	if s.err == nil && s.Ask.TTL < shortTTL {
		m.shortTTL.Do(func() {
			m.cfg.Logger.Warn("actorlock: TTLs under 100 ms leave little time for renewals", "ttl", s.Ask.TTL)
		})
	}
	return s, s.err
}
