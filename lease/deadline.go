package lease

import "time"

// MaxTTL is the longest time to live that a lease can have. Redis adds the TTL
// to its clock in signed 64-bit milliseconds; a hundred years stays far away
// from the overflow on either side.
const MaxTTL = 100 * 365 * 24 * time.Hour

// NoExpiry is reported as the remaining time to live of a key that has none.
const NoExpiry time.Duration = -1

// WholeMillis cuts d down to whole milliseconds, the unit a store works in.
func WholeMillis(d time.Duration) time.Duration { return d.Truncate(time.Millisecond) }

// Margin is what a node subtracts from a TTL before it believes in it, for
// clock drift and scheduling: the smaller of TTL/10 and TTL/100 + 2 ms.
func Margin(ttl time.Duration) time.Duration {
	return min(ttl/10, ttl/100+2*time.Millisecond)
}

// DeadlineOf is the moment up to which a lease may be believed whose acquire
// or extend command was about to be sent at sent.
func DeadlineOf(sent time.Time, ttl time.Duration) time.Time {
	ttl = WholeMillis(ttl)
	return sent.Add(ttl - Margin(ttl))
}

// RenewalOf is the moment at which a lease that was confirmed by a command
// sent at sent is due for its next extension: a third of the TTL later.
func RenewalOf(sent time.Time, ttl time.Duration) time.Time { return sent.Add(ttl / 3) }

// Passable says whether a lease with the given remaining time can pass to a
// holder that asked for ttl without a word to the store: the key outlives half
// of the new TTL and never the whole of it.
func Passable(remaining, ttl time.Duration) bool {
	return remaining >= ttl/2 && remaining <= ttl
}
