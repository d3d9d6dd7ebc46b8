package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock/lease"
)

const (
	// replicaPatience bounds how long replicas are waited for.
	replicaPatience = time.Second
	// undoWithin bounds the attempt to take an acquire back.
	undoWithin = time.Second
)

// uncounted says why replicas cannot be counted: WAIT speaks of what its own
// connection has written, and any client may hide which one that is.
func uncounted(client redis.UniversalClient, replicas int) error {
	if replicas < 0 {
		return &lease.ConfigError{Field: "MinReplicas", Reason: "is negative"}
	}
	switch client.(type) {
	case *redis.Client, *redis.ClusterClient:
		return nil
	}
	if replicas > 0 {
		return &lease.ConfigError{Field: "MinReplicas", Reason: fmt.Sprintf("does not work with a %T", client)}
	}
	return nil
}

// sendAcquire sends an acquire. When replicas count it also finds out whether
// enough have the lock that it took, and takes it back otherwise, which becomes
// the error of the command.
func (s *Store) sendAcquire(ctx context.Context, a lease.Acquisition, c *command) error {
	if s.replicas == 0 {
		return s.main.send(ctx, "acquire", c.alone[:])
	}
	acquireAndCount := func(ctx context.Context) {
		s.main.execute(ctx, c.alone[:])
		if found, err := attempt(c); err != nil || !found.Acquired {
			return
		}
		if err := s.confirm(ctx, a); err != nil {
			c.SetErr(s.undo(ctx, a, err))
		}
	}
	if lease.IsPatient(ctx) && ctx.Err() == nil && s.main.broken == nil {
		acquireAndCount(patient{ctx})
		return nil
	}
	return s.main.await(ctx, "acquire", acquireAndCount)
}

// undo deletes the key of an acquire that does not count. When it cannot tell
// whether it did, the error does not claim that nothing was executed.
func (s *Store) undo(ctx context.Context, a lease.Acquisition, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	kind := lease.KindOf(why)
	s.Release(ctx, []lease.Release{{Key: a.Key, Value: a.Value, Origin: a.Origin}}, func(_ int, err error) {
		switch {
		case err != nil && !lease.IsLoss(err):
			kind = lease.Unknown
		case kind == lease.Unknown, lease.IsLoss(why): // a loss to nobody
			kind = lease.NotExecuted
		}
	})
	return &lease.StoreError{Op: "acquire", Kind: kind, Err: why}
}

// confirm counts the replicas that have the lock. The acquire may have gone
// over any connection, in the pipeline of another call. So the lock is written
// once more, with WAIT right behind on the same connection: a replica that has
// seen that has seen everything before it.
func (s *Store) confirm(ctx context.Context, a lease.Acquisition) (err error) {
	if reason := s.main.guard(func() { err = s.count(ctx, a) }); reason != nil {
		return &panicError{reason}
	}
	return err
}

func (s *Store) count(ctx context.Context, a lease.Acquisition) error {
	millis := a.TTL.Milliseconds()
	c := call(ctx, touchScript, &a.Key, nil, &a.Value, &millis)
	server, asking, err := s.main.serverOf(ctx, a.Key, nil)
	for n := 0; err == nil; n++ {
		waited := waiting(ctx, s.replicas, server, a.TTL)
		pipe := server.Pipeline()
		if asking {
			pipe.Do(ctx, "asking")
		}
		_ = pipe.Process(ctx, c)
		_ = pipe.Process(ctx, waited)
		_, _ = pipe.Exec(ctx) // each command has its own error
		if c.Err() == nil {
			return counted(c, waited, s.replicas)
		}
		s.main.lookAround(ctx, c.alone[:])
		after := c.next()
		if after == settled || n == resends || after == resend && !sleep(ctx, jitter(firstResend<<n)) {
			return c.failure("extend")
		}
		server, asking, err = s.main.serverOf(ctx, a.Key, c.Err())
		c.renew(ctx)
	}
	return err
}

// waiting makes a WAIT. It must not be sent again over another connection, which
// has written nothing and would always be satisfied; its type sees to that.
func waiting(ctx context.Context, replicas int, server *redis.Client, ttl time.Duration) *command {
	limit := min(replicaPatience, ttl/3)
	if own := server.Options().ReadTimeout; own > 0 {
		limit = min(limit, own/2)
	}
	return &command{Cmd: *redis.NewCmd(ctx, "wait", replicas, max(limit.Milliseconds(), 1))}
}

// counted reads the results of an extension and the WAIT after it.
func counted(c, waited *command, replicas int) error {
	if err := c.verdict("extend"); err != nil {
		return err
	}
	if err := waited.failure("wait for replicas"); err != nil {
		return err
	}
	got, ok := waited.Val().(int64)
	switch {
	case !ok:
		return waited.unexpected("wait for replicas")
	case got < int64(replicas):
		return fmt.Errorf("%w: %d of %d", lease.ErrTooFewReplicas, got, replicas)
	}
	return nil
}

// serverOf finds the server that has key, in a cluster by what an earlier one
// has replied. WAIT has no key that could lead a cluster's client there.
func (l *lane) serverOf(ctx context.Context, key string, reply error) (server *redis.Client, asking bool, err error) {
	if client, ok := l.client.(*redis.Client); ok {
		return client, false, nil
	}
	cluster := l.client.(*redis.ClusterClient)
	addr, asking := redis.IsAskError(reply)
	if !asking {
		if moved, ok := redis.IsMovedError(reply); ok {
			addr = moved
			cluster.ReloadState(ctx)
		}
	}
	if addr == "" {
		server, err = cluster.MasterForKey(ctx, key)
		return server, false, err
	}
	found := make(chan *redis.Client, 1)
	err = cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		if c.Options().Addr == addr {
			found <- c
		}
		return nil
	})
	select {
	case server = <-found:
		return server, asking, nil
	default:
	}
	if err == nil {
		err = fmt.Errorf("no server of the cluster is known at %s", addr)
	}
	return nil, false, err
}
