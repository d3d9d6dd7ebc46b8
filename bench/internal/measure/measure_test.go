package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuantilesAreCloseEnough(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 63, 64, 127, 128, 1000, time.Microsecond, 37 * time.Millisecond, time.Second, 10 * time.Minute} {
		var times Times
		times.Add(d)
		require.InDelta(t, float64(d), float64(times.Quantile(0.5)), float64(d)/50, "%v", d)
	}
}

func TestQuantile(t *testing.T) {
	var a, b Times
	require.Zero(t, a.Quantile(0.99), "nothing added")
	for i := range 50 {
		a.Add(time.Duration(i) * time.Millisecond)
		b.Add(time.Duration(i+50) * time.Millisecond)
	}
	b.Add(-time.Second)
	a.Merge(&b)
	require.Equal(t, 101, a.Count())
	require.InEpsilon(t, 49.5, a.Quantile(0.5).Seconds()*1000, 0.03)
	require.InEpsilon(t, 98.5, a.Quantile(0.99).Seconds()*1000, 0.03)
	require.LessOrEqual(t, a.Quantile(1), 101*time.Millisecond)
}

func TestBucketsRiseWithDurations(t *testing.T) {
	last := -1
	for d := time.Duration(0); d < time.Hour; d += d/100 + 1 {
		i := bucket(d)
		require.GreaterOrEqual(t, i, last, "%v", d)
		require.Less(t, i, buckets, "%v", d)
		last = i
	}
}

func TestMedian(t *testing.T) {
	require.Zero(t, Median(nil))
	require.EqualValues(t, 2, Median([]float64{3, 1, 2}))
	require.EqualValues(t, 2.5, Median([]float64{4, 1, 3, 2}))
}
