package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// Chart is a grouped bar chart: a group for each scenario that took part, a bar
// for each candidate.
type Chart struct {
	File      string // without its ending
	Title     string
	Axis      string // what the bars show
	Metric    string
	Ratio     bool // show the ratio to the base, not the figure
	Log       bool
	Scenarios []Group
}

// Group is one scenario and what a chart calls it.
type Group struct{ Scenario, Label string }

// The size of a chart.
const (
	width  = 22 * vg.Centimeter
	height = 11 * vg.Centimeter
)

// Draw writes the charts that the report has figures for into dir, which it
// makes, as SVG. It returns the paths.
func (r *Report) Draw(dir string, charts []Chart) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var paths []string
	for _, c := range charts {
		p, err := r.draw(c)
		if err != nil {
			return paths, fmt.Errorf("chart %s: %w", c.File, err)
		}
		if p == nil {
			continue
		}
		path := filepath.Join(dir, c.File+".svg")
		if err := p.Save(width, height, path); err != nil {
			return paths, fmt.Errorf("chart %s: %w", c.File, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// draw is nil when nothing of the chart was measured.
func (r *Report) draw(c Chart) (*plot.Plot, error) {
	groups, labels := r.groups(c)
	if len(groups) == 0 {
		return nil, nil
	}
	p := plot.New()
	p.Title.Text = c.Title + "\n" + r.Date.Format("2006-01-02") + ", " + r.Machine.String()
	p.Title.TextStyle.Font.Size = font.Points(11)
	p.Title.Padding = vg.Points(6)
	p.Y.Label.Text = c.Axis
	p.Legend.Top, p.Legend.Left = true, true
	p.NominalX(labels...)

	names := candidates(groups)
	each := min(width*0.7/vg.Length(len(groups)*len(names)), vg.Points(40))
	lowest, highest := math.Inf(1), 0.0
	for i, name := range names {
		b := &bars{values: c.values(groups, name), width: each, color: shade(i)}
		b.offset = each * (vg.Length(i) - vg.Length(len(names)-1)/2)
		for _, v := range b.values {
			if v > 0 {
				lowest, highest = min(lowest, v), max(highest, v)
			}
		}
		p.Add(b)
		p.Legend.Add(name, b)
	}
	if highest == 0 {
		return nil, nil
	}
	// The legend has the upper part for itself.
	p.Y.Min, p.Y.Max = 0, highest*1.4
	if c.Log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(lowest/1.5))), highest*30
	}
	p.X.Min, p.X.Max = -0.5, float64(len(groups))-0.5
	return p, nil
}

// values are a candidate's figures, NaN where there is none.
func (c Chart) values(groups []Scenario, candidate string) []float64 {
	var values []float64
	for _, s := range groups {
		v := math.NaN()
		for _, k := range s.Candidates {
			m, found := k.Metric(c.Metric)
			if k.Name != candidate || !found {
				continue
			}
			if v = float64(m.Median); c.Ratio {
				v = float64(m.Ratio)
			}
		}
		values = append(values, v)
	}
	return values
}

func (r *Report) groups(c Chart) (found []Scenario, labels []string) {
	for _, g := range c.Scenarios {
		if s, ok := r.Find(g.Scenario); ok {
			found = append(found, s)
			labels = append(labels, g.Label)
		}
	}
	return found, labels
}

// candidates are the names in all groups, in the order of their first.
func candidates(groups []Scenario) []string {
	var names []string
	for _, s := range groups {
		for _, c := range s.Candidates {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}
