// Package lease holds what every part of actorlock agrees on: the lease as a
// value, the arithmetic of its deadline, the Store port and every error.
//
// It is a leaf: it imports the standard library only, starts no goroutine and
// keeps no state of its own. Stores live in the packages below it (memstore,
// redisstore); leasetest holds the suite that every store must pass.
package lease
