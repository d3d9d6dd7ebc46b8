package lease

import "time"

// Lease describes one hold of a key. It is a snapshot: a renewal moves the
// deadline, so ask again (LeaseFrom, Lock.Lease) instead of keeping one.
type Lease struct {
	// Key is the caller's key, without the manager's prefix.
	Key string
	// Node is the readable id of the node that holds the lease.
	Node string
	// Token is the fencing token: strictly larger for each new holder of the
	// key than for every earlier one. It is 0 when fencing is switched off.
	Token uint64

	deadline time.Time
}

// Deadline is the moment up to which the holder may believe in the lease. It
// carries a monotonic reading, so a jump of the wall clock does not move it.
func (l Lease) Deadline() time.Time { return l.deadline }

// WithDeadline returns a copy of l that ends at t.
func (l Lease) WithDeadline(t time.Time) Lease {
	l.deadline = t
	return l
}
