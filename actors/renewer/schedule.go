package renewer

import "time"

// early is how long before it is due a lease may be extended together with
// others: enough to gather most of a node's leases into a few batches.
func early(ttl time.Duration) time.Duration { return ttl / 12 }

// patience is how long an extension may stay unanswered before another one is
// sent, with the time that is left until the deadline: the nearer that is, the
// sooner, so that a store that is back in time finds one.
func patience(ttl, left time.Duration) time.Duration {
	return max(min(ttl/4, left/2), ttl/16, time.Millisecond)
}

// backOff is the pause before a failed extension is tried again: from a 64th
// of the TTL, doubled with each failure, to an eighth, and at least 1 ms.
func backOff(ttl time.Duration, failures int) time.Duration {
	return max(ttl/64<<min(max(failures-1, 0), 3), time.Millisecond)
}
