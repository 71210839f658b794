package sale

import (
	"fmt"
	"strings"
	"time"
)

// Kind is what a step of a sale does.
type Kind string

// The kinds of steps, in their order.
const (
	Prequeue Kind = "prequeue" // people gather, nobody is let in
	Open     Kind = "open"     // people are let in
	Ramp     Kind = "ramp"     // the inflow becomes another
	Close    Kind = "close"    // nobody new may join, nobody is let in
	Off      Kind = "off"      // no queue any more
)

// Step is what happens at an instant (unix ms).
type Step struct {
	AtMS            int64
	Kind            Kind
	InflowPerSecond float64 // Open and Ramp
}

// Steps lists what an occurrence does and when, at a queue whose policy gives this inflow (the sale's overrides
// included) and this session.
func (p *Plan) Steps(o Occurrence, inflow float64, session time.Duration) []Step {
	var steps []Step
	if o.PrequeueMS != 0 {
		steps = append(steps, Step{AtMS: o.PrequeueMS, Kind: Prequeue})
	}
	if first := p.RampAt(0); first != nil {
		inflow = *first
	}
	steps = append(steps, Step{AtMS: o.OpensMS, Kind: Open, InflowPerSecond: inflow})
	for _, r := range p.Ramp {
		at := o.OpensMS + r.AfterSeconds*1000
		if r.AfterSeconds > 0 && (o.ClosesMS == 0 || at < o.ClosesMS) {
			steps = append(steps, Step{AtMS: at, Kind: Ramp, InflowPerSecond: r.InflowPerSecond})
		}
	}
	if o.ClosesMS != 0 {
		steps = append(steps, Step{AtMS: o.ClosesMS, Kind: Close}, Step{AtMS: o.ClosesMS + session.Milliseconds(), Kind: Off})
	}
	return steps
}

// Note is something about a plan that people may not expect.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Notes tells what people may not expect of the plan.
func (p *Plan) Notes() []Note {
	notes := []Note{}
	add := func(code, text string) { notes = append(notes, Note{code, text}) }
	if strings.HasPrefix(p.TimeZone, "Etc/GMT") && strings.ContainsAny(p.TimeZone, "123456789") {
		_, offset := time.UnixMilli(p.OpensMS).In(p.zone).Zone()
		add("zone_sign", fmt.Sprintf("%s is UTC%+d: the sign in such names is turned round.", p.TimeZone, offset/3600))
	}
	if p.repeat == nil {
		return notes
	}
	if p.repeat.either {
		add("either_day", "The repeat names a day of the month and a weekday: it fires on either day, not only on days that are both.")
	}
	if p.repeat.elapsed {
		add("elapsed", "The hour is * or has a step: the repeat goes by elapsed time, also where clocks are changed.")
	} else if p.changes() {
		add("clock_change", "On a day on which clocks are set forward over the time it opens at the first instant after; where a time comes twice, at the first.")
	}
	return notes
}

// changes reports whether the zone's clocks are changed within a year of the first opening.
func (p *Plan) changes() bool {
	s := segmentAt(time.UnixMilli(p.OpensMS), p.zone)
	return !s.end.IsZero() && s.end.Sub(time.UnixMilli(p.OpensMS)) < 366*24*time.Hour
}

// Local gives an instant (unix ms) as the zone's clocks show it, with their offset from UTC.
func (p *Plan) Local(ms int64) string {
	return time.UnixMilli(ms).In(p.zone).Format("2006-01-02T15:04:05.000-07:00")
}
