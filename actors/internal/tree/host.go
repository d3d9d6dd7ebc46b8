package tree

import "sync/atomic"

// Host is a goroutine on offer: whoever sends a message may be given the job that
// the message leads to, which saves a change of goroutines. The offer stands from
// Lend to Take or Keep. The zero value offers nothing.
type Host struct {
	state atomic.Int32
	job   *Job
}

const (
	engaged = iota
	offered
	given
)

// Lend begins an offer, unless one stands or has been taken up.
func (h *Host) Lend() { h.state.CompareAndSwap(engaged, offered) }

// Lent says whether the offer stands. Nil offers nothing.
func (h *Host) Lent() bool { return h != nil && h.state.Load() == offered }

// Keep withdraws an offer that nobody has taken up.
func (h *Host) Keep() { h.state.CompareAndSwap(offered, engaged) }

// Take ends the offer. It is the job that was given, once, nil for none, to be
// run by the caller.
func (h *Host) Take() *Job {
	if h.state.CompareAndSwap(offered, engaged) || !h.state.CompareAndSwap(given, engaged) {
		return nil
	}
	j := h.job
	h.job = nil
	return j
}

// give reports whether h's goroutine will run j.
func (h *Host) give(j *Job) bool {
	if !h.Lent() {
		return false
	}
	h.job = j
	return h.state.CompareAndSwap(offered, given)
}
