package sale

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

// Plan is a sale that has been checked. It does not change.
type Plan struct {
	Sale
	zone   *time.Location
	repeat *repeat // nil = once
	first  Occurrence
	fields []string // of the policy, that it overrides
}

// Occurrence is one time that a sale is on. Instants are unix milliseconds.
type Occurrence struct {
	PrequeueMS int64 // 0 = it gathers nobody
	OpensMS    int64
	ClosesMS   int64 // 0 = it has no end of its own
	EndMS      int64 // when it is over: it closes, or the next one starts; 0 = never
	Moved      bool  // the repeat's local time does not exist on that day: it is the first instant after the gap
}

// StartMS is when it gathers people, or else opens.
func (o Occurrence) StartMS() int64 {
	if o.PrequeueMS != 0 {
		return o.PrequeueMS
	}
	return o.OpensMS
}

// over reports whether it has ended at an instant.
func (o Occurrence) over(ms int64) bool { return o.EndMS != 0 && o.EndMS <= ms }

// On reports whether it has started at an instant, and has not ended.
func (o Occurrence) On(ms int64) bool { return o.StartMS() <= ms && !o.over(ms) }

// Overrides names the policy fields that the sale overrides, in text order.
func (p *Plan) Overrides() []string { return p.fields }

// Override gives a policy as it is in force under the sale, but for the ramp.
func (p *Plan) Override(policy queue.Policy) queue.Policy {
	out, err := override(policy, p.Sale.Overrides)
	if err != nil {
		return policy // checked when the plan was made
	}
	return out
}

// RampAt gives the inflow that the ramp sets so long after an opening; nil = none yet.
func (p *Plan) RampAt(afterMS int64) (inflow *float64) {
	for i, r := range p.Ramp {
		if r.AfterSeconds*1000 <= afterMS {
			inflow = &p.Ramp[i].InflowPerSecond
		}
	}
	return inflow
}

// NextRampMS gives how long after an opening the ramp's next step is; 0 = there is none.
func (p *Plan) NextRampMS(afterMS int64) int64 {
	for _, r := range p.Ramp {
		if r.AfterSeconds*1000 > afterMS {
			return r.AfterSeconds * 1000
		}
	}
	return 0
}

// Repeats reports whether it has more than one occurrence.
func (p *Plan) Repeats() bool { return p.repeat != nil }

// Next gives the occurrence after one; ok is false where it was the last.
func (p *Plan) Next(o Occurrence) (next Occurrence, ok bool) {
	if p.repeat == nil {
		return Occurrence{}, false
	}
	next, ok = p.after(o.OpensMS)
	return p.ended(next), ok
}

// after gives the repeat's first occurrence that opens after an instant, without its end.
func (p *Plan) after(ms int64) (Occurrence, bool) {
	at, moved := p.repeat.next(time.UnixMilli(max(ms, p.OpensMS)))
	if at.IsZero() {
		return Occurrence{}, false
	}
	o := Occurrence{OpensMS: at.UnixMilli(), Moved: moved}
	if p.PrequeueMS != 0 {
		o.PrequeueMS = p.beside(o.OpensMS, p.PrequeueMS)
	}
	if p.ClosesMS != 0 {
		o.ClosesMS = p.beside(o.OpensMS, p.ClosesMS)
	}
	return o, true
}

// beside gives the instant that stands to an opening as one of the first occurrence stands to its own: by what the
// clocks on the wall show where the repeat goes by them, else by elapsed time.
func (p *Plan) beside(opensMS, ofFirstMS int64) int64 {
	elapsed := opensMS + ofFirstMS - p.OpensMS
	if p.repeat.elapsed {
		return elapsed
	}
	apart := wall(time.UnixMilli(ofFirstMS), p.zone).Sub(wall(time.UnixMilli(p.OpensMS), p.zone))
	t, _ := instant(wall(time.UnixMilli(opensMS), p.zone).Add(apart), p.zone)
	if ms := t.UnixMilli(); (ms < opensMS) == (ofFirstMS < p.OpensMS) && ms != opensMS {
		return ms
	}
	return elapsed // a change of the clocks stands between them and would turn them round
}

// ended completes an occurrence with its end.
func (p *Plan) ended(o Occurrence) Occurrence {
	o.EndMS = o.ClosesMS
	if o.EndMS == 0 && p.repeat != nil {
		if next, ok := p.after(o.OpensMS); ok {
			o.EndMS = next.StartMS()
		}
	}
	return o
}

// At gives the first occurrence that is not over at an instant: the one that is on, or else the next. ok is false where
// all are over.
func (p *Plan) At(ms int64) (o Occurrence, ok bool) {
	o = p.ended(p.first)
	if p.repeat == nil || !o.over(ms) {
		return o, !o.over(ms)
	}
	// One that is not over opened a while ago at most: as long as it lasts, or where it has no end of its own as long as
	// the repeat lets pass.
	for back := p.lasts(); ; back *= 4 {
		if o, ok = p.after(ms - back); !ok {
			return Occurrence{}, false
		}
		if o = p.ended(o); p.ClosesMS == 0 && o.StartMS() > ms {
			continue
		}
		for ok && o.over(ms) {
			o, ok = p.Next(o)
		}
		return o, ok
	}
}

// lasts is more than an occurrence with an end of its own lasts, in ms.
func (p *Plan) lasts() int64 {
	if p.ClosesMS == 0 {
		return day
	}
	return p.ClosesMS - p.OpensMS + 2*widest.Milliseconds()
}

// Upcoming lists at most n occurrences that are not over at an instant.
func (p *Plan) Upcoming(ms int64, n int) []Occurrence {
	var all []Occurrence
	for o, ok := p.At(ms); ok && len(all) < n; o, ok = p.Next(o) {
		all = append(all, o)
	}
	return all
}

// Ended lists the occurrences that ended after one instant and not after another, of those that were to open under the
// plan as it is now.
func (p *Plan) Ended(afterMS, untilMS int64) []Occurrence {
	var all []Occurrence
	for o, ok := p.At(afterMS); ok && o.over(untilMS); o, ok = p.Next(o) {
		if o.OpensMS >= p.SinceMS {
			all = append(all, o)
		}
	}
	return all
}
