// Package report turns what the rounds of a run measured into medians and
// ratios, and prints them: as a table, as JSON, as charts.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

// Report is one run.
type Report struct {
	Date      time.Time  `json:"date"`
	Took      string     `json:"took"`
	Machine   Machine    `json:"machine"`
	Quick     bool       `json:"quick,omitempty"` // short rounds: to see that it works
	Scenarios []Scenario `json:"scenarios"`
}

// Machine is what a run ran on.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPUs  int    `json:"cpus"`
	Go    string `json:"go"`
	Redis string `json:"redis"`
}

// String names it on one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s/%s, %d CPUs, %s, Redis %s", m.OS, m.Arch, m.CPUs, m.Go, m.Redis)
}

// Scenario is one piece of work that all candidates did in turns.
type Scenario struct {
	Name       string      `json:"name"`
	Title      string      `json:"title"`
	Note       string      `json:"note,omitempty"`
	Base       string      `json:"base,omitempty"` // the candidate that ratios refer to
	Rounds     int         `json:"rounds"`
	Candidates []Candidate `json:"candidates"`
}

// Candidate is what one of them reached.
type Candidate struct {
	Name    string   `json:"name"`
	Metrics []Metric `json:"metrics"`
	Error   string   `json:"error,omitempty"` // it took no part from then on
}

// Metric is one figure of a candidate: the median of the rounds.
type Metric struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit,omitempty"` // one that begins with "/" belongs to the name
	Median Number   `json:"median"`
	Min    Number   `json:"min"`
	Max    Number   `json:"max"`
	Ratio  Number   `json:"ratio,omitempty"` // to the base's median; 0: none
	Rounds []Number `json:"rounds,omitempty"`
}

// Number is a float64 that JSON can carry: what is not finite becomes null.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsInf(f, 0) || math.IsNaN(f) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Metric finds a figure by its name.
func (c Candidate) Metric(name string) (Metric, bool) {
	for _, m := range c.Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// Find finds a scenario by its name.
func (r *Report) Find(name string) (Scenario, bool) {
	for _, s := range r.Scenarios {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

// Failed says whether any candidate ended with an error.
func (r *Report) Failed() bool {
	for _, s := range r.Scenarios {
		for _, c := range s.Candidates {
			if c.Error != "" {
				return true
			}
		}
	}
	return false
}

// JSON writes all of it for machines.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
