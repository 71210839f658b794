package sale

import (
	"fmt"
	"time"
)

// mostCompared bounds the occurrences that are looked at for overlaps.
const mostCompared = 20_000

// checkRepeats refuses a repeat whose next occurrence would start before the one before has ended.
func (p *Plan) checkRepeats() error {
	if p.repeat == nil {
		return nil
	}
	until := p.OpensMS + mostDays*day
	o := p.ended(p.first)
	for range mostCompared {
		next, ok := p.Next(o)
		if !ok || next.OpensMS > until {
			return nil
		}
		switch {
		case p.ClosesMS == 0 && next.StartMS() <= o.OpensMS:
			return invalid("prequeue_at", fmt.Sprintf("later: the prequeue of %s would begin before the opening of %s",
				shown(time.UnixMilli(next.OpensMS), p.zone), shown(time.UnixMilli(o.OpensMS), p.zone)))
		case p.ClosesMS != 0 && next.StartMS() < o.ClosesMS:
			return invalid("closes_at", fmt.Sprintf("before the next one starts: that of %s ends at %s, the next starts at %s",
				shown(time.UnixMilli(o.OpensMS), p.zone), shown(time.UnixMilli(o.ClosesMS), p.zone), shown(time.UnixMilli(next.StartMS()), p.zone)))
		}
		o = next
	}
	return nil
}

// Overlap finds a time from an instant on at which both sales are on: ErrOverlap with that time, or nil. Repeats are
// compared over 400 days. Whether the sales are of the same item is the caller's to know.
func Overlap(p, other *Plan, fromMS int64) error {
	until := max(fromMS, p.OpensMS, other.OpensMS) + mostDays*day
	a, aok := p.At(fromMS)
	b, bok := other.At(fromMS)
	for range 2 * mostCompared {
		if !aok || !bok || a.StartMS() > until || b.StartMS() > until {
			return nil
		}
		if !b.over(a.StartMS()) && !a.over(b.StartMS()) {
			return ErrOverlap.With(fmt.Sprintf("%s is on %s, and this sale %s. Give one of them other times, or an end (closes_at).",
				named(other), other.span(b), p.span(a))).Because(&Clash{Other: other, Occurrence: b})
		}
		if a.EndMS != 0 && (b.EndMS == 0 || a.EndMS <= b.EndMS) {
			a, aok = p.Next(a)
		} else {
			b, bok = other.Next(b)
		}
	}
	return nil
}

// Clash is the cause of ErrOverlap: the time of another sale that stands against one.
type Clash struct {
	Other *Plan
	Occurrence
}

// Error names the other sale, for the log.
func (c *Clash) Error() string { return "the sale " + c.Other.ID + " is on then" }

func named(p *Plan) string { return fmt.Sprintf("The sale %q (%s)", p.Name, p.ID) }

func (p *Plan) span(o Occurrence) string {
	from := "from " + shown(time.UnixMilli(o.StartMS()), p.zone)
	if o.EndMS == 0 {
		return from + " on without an end"
	}
	return from + " to " + shown(time.UnixMilli(o.EndMS), p.zone)
}
