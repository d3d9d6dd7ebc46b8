package measure

import (
	"math/bits"
	"time"
)

// Durations are counted in buckets that are a thirty-second of their value wide
// at most, up to about 18 minutes.
const (
	grain   = 32
	buckets = (40-5)*grain + 2*grain
)

// Times is a distribution of durations. It takes the same memory whatever is
// added, so that measuring an operation does not allocate beside it. The zero
// value is empty. It is not safe for concurrent use: callers have one each, and
// they are merged.
type Times struct {
	count  int
	counts [buckets]uint32
}

// Add counts d; a negative one counts as zero.
func (t *Times) Add(d time.Duration) {
	t.count++
	t.counts[bucket(d)]++
}

// Merge adds all of o.
func (t *Times) Merge(o *Times) {
	t.count += o.count
	for i, n := range o.counts {
		t.counts[i] += n
	}
}

// Count is how many durations were added.
func (t *Times) Count() int { return t.count }

// Quantile is the duration that a share of q of all do not exceed, within about
// two per cent; 0 when there are none.
func (t *Times) Quantile(q float64) time.Duration {
	rank := min(int(q*float64(t.count)), t.count-1)
	for i, n := range t.counts {
		if rank -= int(n); rank < 0 {
			return middle(i)
		}
	}
	return 0
}

func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-6, 0)
	return min(shift*grain+int(v>>shift), buckets-1)
}

func middle(i int) time.Duration {
	if i < 2*grain {
		return time.Duration(i)
	}
	shift := i/grain - 1
	return time.Duration((i%grain+grain)<<shift + 1<<shift/2)
}
