package lease

import "context"

// patient marks a context whose caller does not wait for the store.
type patient struct{ context.Context }

// Patiently makes a context for a command whose caller has made other
// arrangements for a store that hangs. With it a store may go on past ctx's end
// for as long as its client's own time-outs allow, so that the outcome is known
// and no goroutine is needed to leave the command behind.
func Patiently(ctx context.Context) context.Context { return patient{ctx} }

// IsPatient reports whether ctx was made by Patiently.
func IsPatient(ctx context.Context) bool {
	_, ok := ctx.(patient)
	return ok
}
