package lease

// Policy says what a store's error does to a lock whose lease is being extended.
type Policy int

const (
	// LoseAtOnce: the first extension that fails loses the lock.
	LoseAtOnce Policy = iota
	// RetryUntilDeadline: extensions are tried again, with back-off, for as
	// long as the lease's deadline lasts.
	RetryUntilDeadline
)
