package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Chart is a picture of lines over one axis.
type Chart struct {
	Name   string `json:"name"` // of the file, without .svg
	Title  string `json:"title"`
	X      string `json:"x"` // what the axes are, with the unit
	Y      string `json:"y"`
	LogX   bool   `json:"log_x"` // 1, 10, 100, … at equal distances; every X > 0
	Series []Line `json:"series"`
}

// Line is one line of a chart.
type Line struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"` // x, y; x rising
	Steps  bool         `json:"steps"`  // y holds until the next x
}

// The picture, in pixels.
const (
	chartWidth, chartHeight           = 720, 360
	chartLeft, chartRight             = 72, 16
	chartTop, chartBottom             = 40, 64
	chartInnerWidth, chartInnerHeight = chartWidth - chartLeft - chartRight, chartHeight - chartTop - chartBottom
)

// chartColours can be told apart without seeing colours well, on light and on dark ground.
var chartColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"}

// SVG draws the chart. What is drawn depends on the chart alone.
func (c Chart) SVG(w io.Writer) error {
	var b strings.Builder
	low, high, top := c.span()
	x := func(v float64) float64 {
		if c.LogX {
			v = math.Log10(v)
		}
		return chartLeft + (v-low)/(high-low)*chartInnerWidth
	}
	y := func(v float64) float64 { return chartTop + (1-v/top)*chartInnerHeight }

	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#777">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<title>%s</title>`+"\n", escape(c.Title))
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="14">%s</text>`+"\n", chartLeft, escape(c.Title))
	for _, v := range ticks(top) {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#777" stroke-opacity=".25"/>`, chartLeft, y(v), chartWidth-chartRight)
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", chartLeft-6, y(v)+4, short(v))
	}
	for _, v := range c.marks(low, high) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(v), chartHeight-chartBottom+18, short(v))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", chartLeft+chartInnerWidth/2, chartHeight-chartBottom+36, escape(c.X))
	fmt.Fprintf(&b, `<text x="16" y="%d" text-anchor="middle" transform="rotate(-90 16 %d)">%s</text>`+"\n", chartTop+chartInnerHeight/2, chartTop+chartInnerHeight/2, escape(c.Y))
	at := chartLeft
	for i, s := range c.Series {
		colour := chartColours[i%len(chartColours)]
		fmt.Fprintf(&b, `<path fill="none" stroke="%s" stroke-width="2" d="`, colour)
		for j, p := range s.Points {
			switch {
			case j == 0:
				fmt.Fprintf(&b, "M%.1f %.1f", x(p[0]), y(p[1]))
			case s.Steps:
				fmt.Fprintf(&b, "H%.1fV%.1f", x(p[0]), y(p[1]))
			default:
				fmt.Fprintf(&b, "L%.1f %.1f", x(p[0]), y(p[1]))
			}
		}
		b.WriteString(`"/>` + "\n")
		fmt.Fprintf(&b, `<path d="M%d %dh16" stroke="%s" stroke-width="2"/><text x="%d" y="%d">%s</text>`+"\n",
			at, chartHeight-12, colour, at+22, chartHeight-8, escape(s.Name))
		at += 40 + 7*len(s.Name)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// span is what the axes cover: x from low to high (of the logarithm where it is one), y from 0 to top.
func (c Chart) span() (low, high, top float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, p := range s.Points {
			v := p[0]
			if c.LogX {
				v = math.Log10(v)
			}
			low, high, top = min(low, v), max(high, v), max(top, p[1])
		}
	}
	if math.IsInf(low, 0) {
		low, high = 0, 1
	}
	if low == high {
		high = low + 1
	}
	if top == 0 {
		top = 1
	}
	return low, high, top * 1.05
}

// marks are where the x axis is labelled.
func (c Chart) marks(low, high float64) (at []float64) {
	if c.LogX {
		for e := math.Ceil(low - 1e-9); e <= high+1e-9; e++ {
			at = append(at, math.Pow(10, e))
		}
		return at
	}
	for _, v := range ticks(high - low) {
		at = append(at, low+v)
	}
	return at
}

// ticks are 4 to 9 round numbers from 0 to top.
func ticks(top float64) (at []float64) {
	step := math.Pow(10, math.Floor(math.Log10(top)))
	switch {
	case top/step < 2:
		step /= 5
	case top/step < 5:
		step /= 2
	}
	for i := 0; float64(i)*step <= top*(1+1e-9); i++ {
		at = append(at, float64(i)*step)
	}
	return at
}

// short writes a number as an axis does.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.4g %s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.3g", v)
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace
