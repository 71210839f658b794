package bench

import "time"

// curve draws who was let in per second beside the rates that were set, each from an instant on, and marks nothing
// else: a live change and a node's death are to be seen in it, or not.
func curve(at []time.Time, begin, end time.Time, set []rateSet) Chart {
	const bin = time.Second
	measured := Line{Name: "let in"}
	for from := begin; from.Before(end); from = from.Add(bin) {
		measured.Points = append(measured.Points, [2]float64{from.Add(bin / 2).Sub(begin).Seconds(), float64(within(at, from, from.Add(bin)))})
	}
	rate := Line{Name: "rate set", Steps: true}
	for _, s := range set {
		rate.Points = append(rate.Points, [2]float64{s.from.Sub(begin).Seconds(), s.perSecond})
	}
	if n := len(set); n > 0 {
		rate.Points = append(rate.Points, [2]float64{end.Sub(begin).Seconds(), set[n-1].perSecond})
	}
	return Chart{
		Name: "admitted", Title: "People let in, through two live changes and the death of the node that moves the line",
		X: "seconds", Y: "people per second", Series: []Line{rate, measured},
	}
}

// rateSet is an inflow that holds from an instant on.
type rateSet struct {
	from      time.Time
	perSecond float64
}
