package report

import (
	"slices"
	"time"

	"github.com/actorlock/actorlock/bench/internal/measure"
)

// Sample is what one candidate reached in one round. All samples of a scenario
// have the same readings in the same order.
type Sample []Reading

// Reading is one figure of a round: a value, or a distribution of times, of
// which the median and the 99th percentile are shown.
type Reading struct {
	Name    string
	Unit    string
	Compare bool // show the ratio to the base, of times that of the median
	Value   float64
	Times   *measure.Times
	Per     time.Duration // the unit of Times
}

// enough is how many times a round must have for its own 99th percentile to
// mean something. With fewer, those of all rounds are put together.
const enough = 500

// Metrics condenses the rounds of one candidate.
func Metrics(rounds []Sample) []Metric {
	if len(rounds) == 0 {
		return nil
	}
	var out []Metric
	for i, r := range rounds[0] {
		if r.Times == nil {
			out = append(out, condense(r.Name, r.Unit, values(rounds, i)))
			continue
		}
		all := distributions(rounds, i)
		out = append(out,
			condense(r.quantile("p50"), r.Unit, quantiles(all, 0.5, r.Per)),
			condense(r.quantile("p99"), r.Unit, quantiles(all, 0.99, r.Per)))
	}
	return out
}

// quantile is what a quantile of the reading's times is called.
func (r Reading) quantile(q string) string {
	if r.Name == "" {
		return q
	}
	return r.Name + " " + q
}

func quantiles(of []*measure.Times, q float64, per time.Duration) []Number {
	var out []Number
	for _, t := range of {
		out = append(out, Number(float64(t.Quantile(q))/float64(per)))
	}
	return out
}

func values(rounds []Sample, i int) []Number {
	var out []Number
	for _, s := range rounds {
		out = append(out, Number(s[i].Value))
	}
	return out
}

func distributions(rounds []Sample, i int) []*measure.Times {
	var each []*measure.Times
	all, few := new(measure.Times), false
	for _, s := range rounds {
		each = append(each, s[i].Times)
		all.Merge(s[i].Times)
		few = few || s[i].Times.Count() < enough
	}
	if few {
		return []*measure.Times{all}
	}
	return each
}

func condense(name, unit string, rounds []Number) Metric {
	floats := make([]float64, len(rounds))
	for i, n := range rounds {
		floats[i] = float64(n)
	}
	return Metric{
		Name: name, Unit: unit, Rounds: rounds,
		Median: Number(measure.Median(floats)),
		Min:    slices.Min(rounds), Max: slices.Max(rounds),
	}
}

// Compare fills in the ratios to base, for the readings of sample that ask for it.
func (s *Scenario) Compare(sample Sample) {
	base := slices.IndexFunc(s.Candidates, func(c Candidate) bool { return c.Name == s.Base })
	if base < 0 {
		return
	}
	for _, r := range sample {
		name := r.Name
		if r.Times != nil {
			name = r.quantile("p50")
		}
		of, found := s.Candidates[base].Metric(name)
		if !r.Compare || !found || of.Median == 0 {
			continue
		}
		for _, c := range s.Candidates {
			for i := range c.Metrics {
				if c.Metrics[i].Name == name {
					c.Metrics[i].Ratio = c.Metrics[i].Median / of.Median
				}
			}
		}
	}
}
