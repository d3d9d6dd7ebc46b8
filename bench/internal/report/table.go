package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table writes a report for people.
func (r *Report) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s · took %s\n", r.Date.Format("2006-01-02 15:04"), r.Machine, r.Took)
	b.WriteString("Medians of interleaved rounds. Compare within this run only, by the × columns.\n")
	if r.Quick {
		b.WriteString("A quick run: rounds are too short for its figures to be quoted.\n")
	}
	for _, s := range r.Scenarios {
		b.WriteByte('\n')
		s.table(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Scenario) table(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s (rounds: %d)\n", s.Name, s.Title, s.Rounds)
	lines := [][]string{s.header()}
	for _, c := range s.Candidates {
		lines = append(lines, s.line(c))
	}
	align(b, lines)
	if s.Note != "" {
		fmt.Fprintf(b, "  %s\n", s.Note)
	}
	for _, c := range s.Candidates {
		if c.Error != "" {
			fmt.Fprintf(b, "  %s failed: %s\n", c.Name, c.Error)
		}
	}
}

// columns is a candidate that has all the metrics: failed ones may have none.
func (s Scenario) columns() Candidate {
	var most Candidate
	for _, c := range s.Candidates {
		if len(c.Metrics) > len(most.Metrics) {
			most = c
		}
	}
	return most
}

func (s Scenario) header() []string {
	cells := []string{""}
	for _, m := range s.columns().Metrics {
		name := m.Name + " " + m.Unit
		if m.Unit == "" || m.Unit[0] == '/' {
			name = m.Name + m.Unit
		}
		cells = append(cells, name)
		if m.Ratio != 0 {
			cells = append(cells, "× "+s.Base)
		}
	}
	return cells
}

func (s Scenario) line(c Candidate) []string {
	cells := []string{c.Name}
	for _, column := range s.columns().Metrics {
		m, found := c.Metric(column.Name)
		cell, ratio := "-", "-"
		if found {
			cell, ratio = Format(m.Median), Format(m.Ratio)
		}
		cells = append(cells, cell)
		if column.Ratio != 0 {
			cells = append(cells, ratio)
		}
	}
	return cells
}

// align writes cells in columns, the first to the left, the others to the right.
func align(b *strings.Builder, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, cell := range l {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, l := range lines {
		for i, cell := range l {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("  " + cell + pad)
				continue
			}
			b.WriteString("  " + pad + cell)
		}
		b.WriteByte('\n')
	}
}

// Format shows three digits of n, and thousands and millions by a letter.
func Format(n Number) string {
	f := float64(n)
	switch a := math.Abs(f); {
	case math.IsInf(f, 0):
		return "∞"
	case math.IsNaN(f):
		return "-"
	case a >= 1e6:
		return digits(f/1e6) + "M"
	case a >= 1e4:
		return digits(f/1e3) + "k"
	default:
		return digits(f)
	}
}

func digits(f float64) string {
	switch a := math.Abs(f); {
	case a >= 99.95:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case a >= 0.0995 || a == 0:
		return strconv.FormatFloat(f, 'f', 2, 64)
	default:
		return strconv.FormatFloat(f, 'g', 2, 64)
	}
}
