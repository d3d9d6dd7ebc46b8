package torture

import (
	"fmt"
	"testing"
	"time"
)

// Rounds of faults, for as long as the flags say. A round that fails prints its
// schedule, and runs again with -rounds 1 and its seed.
func TestTorture(t *testing.T) {
	var sum totals
	end := time.Now().Add(*length)
	for s := *seed; ; s++ {
		if *rounds > 0 && s == *seed+uint64(*rounds) || *rounds == 0 && time.Until(end) < roundLength {
			break
		}
		ok := t.Run(fmt.Sprint("seed=", s), func(t *testing.T) {
			r := newRound(t, s, "")
			defer func() { sum.add(r.sum) }()
			r.torture()
			r.finish()
			r.verify()
		})
		if !ok {
			break
		}
	}
	t.Log(sum.String())
}
