package redisstore

import (
	"context"
	"errors"
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

// unsure says why replicas cannot be counted: WAIT speaks of what its own
// connection has written, and any client may hide which one that is.
func unsure(client redis.UniversalClient, replicas int) error {
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

// replicated lets a lock that was just acquired count when enough replicas have
// it, and takes it back otherwise.
func (s *Store) replicated(ctx context.Context, a lease.Acquisition, found lease.Attempt) (lease.Attempt, error) {
	var err error
	confirm := func(ctx context.Context) {
		if err = s.confirm(ctx, a); err != nil {
			err = s.undo(ctx, a, err)
		}
	}
	if lease.IsPatient(ctx) && ctx.Err() == nil {
		confirm(patient{ctx})
	} else if gone := s.main.await(ctx, "acquire", confirm, func() {
		if err == nil && a.Late != nil {
			a.Late()
		}
	}); gone != nil {
		return lease.Attempt{}, &lease.StoreError{Op: "acquire", Err: gone} // the key may still be ours
	}
	if err != nil {
		return lease.Attempt{}, err
	}
	return found, nil
}

// undo deletes the key of an acquire that does not count. When it cannot tell
// whether it did, the error does not claim that nothing was executed.
func (s *Store) undo(ctx context.Context, a lease.Acquisition, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	kind := lease.KindOf(why)
	s.Release(ctx, []lease.Release{{Key: a.Key, Value: a.Value, Origin: a.Origin}}, func(_ int, err error) {
		if err != nil && !lease.IsLoss(err) {
			kind = lease.Unknown
		} else if kind == lease.Unknown {
			kind = lease.NotExecuted
		}
	})
	return &lease.StoreError{Op: "acquire", Kind: kind, Err: why}
}

// confirm counts the replicas that have the lock. The acquire may have gone
// over any connection, and by way of others. So the lock is extended once more,
// on a connection of this call's own: a replica that has seen the extension has
// seen everything before it.
func (s *Store) confirm(ctx context.Context, a lease.Acquisition) (err error) {
	if reason := s.main.guard(func() { err = s.count(ctx, a) }); reason != nil {
		return &panicError{reason}
	}
	return err
}

func (s *Store) count(ctx context.Context, a lease.Acquisition) error {
	millis := a.TTL.Milliseconds()
	c := call(ctx, extendScript, &a.Key, nil, &a.Value, &millis)
	server, asking, err := s.main.serverOf(ctx, c.key, nil)
	for n := 0; err == nil; n++ {
		conn := server.Conn()
		if asking {
			_ = conn.Do(ctx, "asking").Err() // what it is for will fail without
		}
		_ = conn.Process(ctx, c)
		if c.Err() == nil {
			defer conn.Close()
			if err := c.verdict("extend"); err != nil {
				// No loss to the caller, who has not had it.
				return &lease.StoreError{Op: "extend", Kind: lease.NotExecuted, Err: errors.Unwrap(err)}
			}
			return s.wait(ctx, conn, a.TTL)
		}
		_ = conn.Close()
		after := c.next()
		if after == settled || n == resends || after == resend && !sleep(ctx, jitter(firstResend<<n)) {
			return c.failure("extend")
		}
		server, asking, err = s.main.serverOf(ctx, c.key, c.Err())
		c.renew(ctx)
	}
	return err
}

// wait asks how many replicas have what was written over conn.
func (s *Store) wait(ctx context.Context, conn *redis.Conn, ttl time.Duration) error {
	got, err := conn.Wait(ctx, s.replicas, max(min(replicaPatience, ttl/3), time.Millisecond)).Result()
	if err != nil {
		kind, _ := judge(err)
		return &lease.StoreError{Op: "wait for replicas", Kind: kind, Err: err}
	}
	if got < int64(s.replicas) {
		return fmt.Errorf("%w: %d of %d", lease.ErrTooFewReplicas, got, s.replicas)
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
