package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars are one candidate's bars, one in each group, each with its figure on top.
// Those of gonum's plotter start at zero, which a logarithmic axis does not have.
type bars struct {
	values []float64 // NaN: no bar
	width  vg.Length
	offset vg.Length
	color  color.Color
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	label := text.Style{
		Color: color.Black, Font: font.From(plot.DefaultFont, vg.Points(7)),
		XAlign: text.XCenter, YAlign: text.YBottom, Handler: plot.DefaultTextHandler,
	}
	for i, v := range b.values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		left, top := x(float64(i))+b.offset-b.width/2, y(max(v, p.Y.Min))
		c.FillPolygon(b.color, box(left, left+b.width, c.Min.Y, top))
		c.FillText(label, vg.Point{X: left + b.width/2, Y: top + vg.Points(1)}, Format(Number(v)))
	}
}

// Thumbnail implements plot.Thumbnailer, for the legend.
func (b *bars) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(b.color, box(c.Min.X, c.Max.X, c.Min.Y, c.Max.Y))
}

func box(left, right, bottom, top vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: bottom}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}}
}

// shade is the colour of the i-th candidate: told apart also by those who see
// no red or green (Okabe and Ito).
func shade(i int) color.Color {
	palette := []color.RGBA{
		{R: 153, G: 153, B: 153, A: 255},
		{R: 230, G: 159, B: 0, A: 255},
		{R: 86, G: 180, B: 233, A: 255},
		{R: 0, G: 114, B: 178, A: 255},
		{R: 0, G: 158, B: 115, A: 255},
		{R: 204, G: 121, B: 167, A: 255},
	}
	return palette[i%len(palette)]
}
