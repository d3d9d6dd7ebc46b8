package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/actorlock/actorlock/bench/internal/measure"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sample(rate float64, waits ...time.Duration) Sample {
	times := new(measure.Times)
	for _, w := range waits {
		times.Add(w)
	}
	return Sample{
		{Name: "pairs", Unit: "/s", Value: rate, Compare: true},
		{Name: "wait", Unit: "ms", Times: times, Per: time.Millisecond, Compare: true},
	}
}

func scenario() Scenario {
	plain := []Sample{sample(100, time.Millisecond), sample(300, time.Millisecond), sample(200, 9*time.Millisecond)}
	ours := []Sample{sample(400, 2*time.Millisecond)}
	s := Scenario{Name: "serial", Title: "a title", Base: "plain", Candidates: []Candidate{
		{Name: "plain", Metrics: Metrics(plain)}, {Name: "ours", Metrics: Metrics(ours)}, {Name: "lame", Error: "it broke"},
	}}
	s.Compare(plain[0])
	return s
}

func TestMediansAndRatios(t *testing.T) {
	s := scenario()
	pairs, _ := s.Candidates[0].Metric("pairs")
	require.Equal(t, Metric{Name: "pairs", Unit: "/s", Median: 200, Min: 100, Max: 300, Ratio: 1, Rounds: []Number{100, 300, 200}}, pairs)
	pairs, _ = s.Candidates[1].Metric("pairs")
	require.EqualValues(t, 2, pairs.Ratio)
	// Few waits in each round: they are put together.
	p99, _ := s.Candidates[0].Metric("wait p99")
	require.InEpsilon(t, 9, float64(p99.Median), 0.03)
	require.Len(t, p99.Rounds, 1)
	require.Zero(t, p99.Ratio)
	p50, _ := s.Candidates[1].Metric("wait p50")
	require.InEpsilon(t, 2, float64(p50.Ratio), 0.05)
	require.Empty(t, Metrics(nil))
}

func TestTable(t *testing.T) {
	r := Report{Scenarios: []Scenario{scenario()}}
	var b strings.Builder
	require.NoError(t, r.Table(&b))
	require.Contains(t, b.String(), "pairs/s  × plain")
	require.Contains(t, b.String(), "lame failed: it broke")
	require.True(t, r.Failed())
}

func TestWhatIsNotFiniteIsNull(t *testing.T) {
	text, err := json.Marshal([]Number{Number(math.Inf(1)), Number(math.NaN()), 1.5})
	require.NoError(t, err)
	require.Equal(t, "[null,null,1.5]", string(text))
}

func TestFormat(t *testing.T) {
	for n, want := range map[Number]string{
		0: "0.00", 0.0123: "0.012", 1: "1.00", 9.999: "10.0", 99.99: "100", 1234: "1234", 12345: "12.3k", 1e7: "10.0M",
		Number(math.Inf(1)): "∞", Number(math.NaN()): "-",
	} {
		require.Equal(t, want, Format(n))
	}
}
