package redisstore

import (
	"time"

	"github.com/actorlock/actorlock/lease"
)

var errEmptyKey error = &lease.ConfigError{Field: "key", Reason: "is empty"}

// check refuses what must not be sent: an empty key, which clients and servers
// put into different slots, and a time to live that would delete the key or
// overflow.
func check(key string, ttl time.Duration) error {
	switch {
	case key == "":
		return errEmptyKey
	case ttl < time.Millisecond:
		return &lease.ConfigError{Field: "TTL", Reason: "is below 1 ms"}
	case ttl > lease.MaxTTL:
		return &lease.ConfigError{Field: "TTL", Reason: "is above " + lease.MaxTTL.String()}
	}
	return nil
}
