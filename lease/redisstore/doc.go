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
// PEXPIRE, PTTL and TIME, the lock keys and those that contain
// ":actorlock-fence", ":actorlock-Fence", ":actorlock-wait" or
// ":actorlock-Wait". PUBLISH, SUBSCRIBE, UNSUBSCRIBE and PING on the channels
// "actorlock:wake:*" are optional: without them waiters only poll.
//
// # Files
//
//	store.go, options.go, open.go   how a store is made
//	acquire.go, batch.go, …         what a store does
//	exec.go, command.go, scripts.go how a command gets to the server
//	errors.go                       what a failed command means
//	keys.go, slot.go                names
//	watch.go, subscription.go       wake-ups
package redisstore
