// Package redisstore keeps locks in Redis: standalone, Sentinel, Cluster and
// Valkey, by a client of the caller's or by URL. It implements lease.Store and
// is the only package that imports a Redis client.
//
// A lock is one string key, named exactly as the caller says, taken with its
// value and expiry in one step. Two more keys may stand in the same cluster
// slot: where fencing tokens are stored, and a short-lived mark of a node that
// waits. Wake-ups are published on a channel for each key.
//
// # Rights
//
// A server user needs the commands EVALSHA, EVAL, GET, MGET, SET, DEL, EXISTS,
// PEXPIRE, PTTL and TIME on the lock keys and on the keys beside them: "{key}"
// or, for keys with braces, the key itself or a short tag in braces, followed
// by ":actorlock-" and more. Optional are PUBLISH, SUBSCRIBE, UNSUBSCRIBE and
// PING, and the channels "actorlock:wake:*": without them waiters only poll. A
// client needs SELECT for a database other than 0, in a cluster CLUSTER SLOTS,
// and WAIT for MinReplicas.
//
// # Failover
//
// Redis replicates in the background. A replica that takes over without having
// seen a lock gives it to the next who asks, while the first holder goes on
// until its next extension. MinReplicas makes sure that n replicas have a lock
// before it counts; whether the one that takes over is among them is up to who
// chooses it, and certain only when n is all there are. Extensions wait for no
// replica: what is lost of them is at most the time since the one before.
//
// In a split that leaves a holder with the old primary it extends its lock there
// for as long as the split lasts, while another takes it from the new one. The
// server's min-replicas-to-write ends that: extensions are refused soon after
// the split, and the holder is told.
//
// While the slot of a cluster moves, a lock in it is extended and released
// wherever it is. An acquire names two keys, which Redis refuses with TRYAGAIN
// from the moment that one of them has moved or is not there, until the slot has
// arrived.
//
// # Files
//
//	store.go, options.go, open.go            how a store is made
//	acquire.go, batch.go, reserve.go, look.go what a store does
//	replicas.go                              what MinReplicas adds to an acquire
//	exec.go, cluster.go                      how commands get to the server
//	command.go, scripts.go, errors.go        a command, and what its end means
//	keys.go, slot.go, check.go               names, and what is refused
//	watch.go, subscription.go                wake-ups
package redisstore
