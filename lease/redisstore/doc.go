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
// client needs SELECT for a database other than 0, and in a cluster CLUSTER
// SLOTS.
//
// # Files
//
//	store.go, options.go, open.go            how a store is made
//	acquire.go, batch.go, reserve.go, look.go what a store does
//	exec.go, cluster.go                      how commands get to the server
//	command.go, scripts.go, errors.go        a command, and what its end means
//	keys.go, slot.go, check.go               names, and what is refused
//	watch.go, subscription.go                wake-ups
package redisstore
