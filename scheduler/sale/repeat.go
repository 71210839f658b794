package sale

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// repeat is a cron expression in a zone. The expression is read on the wall clock; what clocks that are changed do to it
// is ours: robfig/cron leaves out what falls into a gap.
type repeat struct {
	wall    cron.Schedule // on wall times
	elapsed bool          // goes by elapsed time: whenever the clocks show a time that fits, also when they show it twice
	either  bool          // both a day of the month and a weekday are named: either does
	zone    *time.Location
}

var fiveFields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// repeatLetters are all that stands in an expression; above all no "=", after which the parser looks for a zone.
const repeatLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ*,-/?"

// parseRepeat reads a cron expression of five fields: minute, hour, day of the month, month, weekday (0 and 7 are
// Sunday). ErrInvalid where it is none, or never happens.
func parseRepeat(text string, zone *time.Location) (*repeat, error) {
	fields := strings.Fields(text)
	if len(text) > mostRepeat || len(fields) != 5 || strings.Trim(strings.Join(fields, ""), repeatLetters) != "" {
		return nil, invalid("repeat", "a cron expression of five fields (minute hour day month weekday), such as 0 11 * * 5")
	}
	for _, f := range fields {
		if strings.Trim(f, repeatLetters) != "" {
			return nil, invalid("repeat", "a cron expression of five fields (minute hour day month weekday)")
		}
	}
	fields[4] = sundays(fields[4])
	schedule, err := fiveFields.Parse(strings.Join(fields, " "))
	if err != nil {
		return nil, invalid("repeat", "a cron expression of five fields (minute hour day month weekday) of numbers, names, * , - and /: "+reason(err))
	}
	spec := schedule.(*cron.SpecSchedule)
	spec.Location = time.UTC
	r := &repeat{
		wall: schedule, zone: zone,
		elapsed: strings.ContainsAny(fields[1], "*?/"),
		either:  spec.Dom&star == 0 && spec.Dow&star == 0,
	}
	if schedule.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, ErrInvalid.With("repeat never happens: no such day is in the calendar of the next five years.")
	}
	return r, nil
}

// star marks a day field that is any day, which alone leaves it to the other.
const star = 1 << 63

// sundays writes 7 as 0.
func sundays(field string) string {
	parts := strings.Split(field, ",")
	for i, p := range parts {
		if from, ok := strings.CutSuffix(p, "-7"); ok && from != "7" {
			p = from + "-6,0"
			if from == "0" {
				p = "0-6"
			}
		}
		if p == "7" {
			p = "0"
		}
		parts[i] = p
	}
	return strings.Join(parts, ",")
}

// reason is what the parser found wrong, without what it was given at length.
func reason(err error) string {
	text := err.Error()
	if len(text) > 120 {
		text = strings.ToValidUTF8(text[:120], "") + "…"
	}
	return text
}

// next gives the first instant after t at which the expression fires, and whether it was moved out of a gap; the zero
// time where there is none within five years.
func (r *repeat) next(t time.Time) (at time.Time, moved bool) {
	if r.elapsed {
		return r.nextElapsed(t), false
	}
	// The walls that follow, until one of them is a later instant: what comes twice counts the first time alone, and
	// several that fall into one gap are one instant.
	for w := r.wall.Next(wall(t, r.zone)); !w.IsZero(); w = r.wall.Next(w) {
		if at, moved := instant(w, r.zone); at.After(t) {
			return at, moved
		}
	}
	return time.Time{}, false
}

// nextElapsed looks through the spans of one offset each.
func (r *repeat) nextElapsed(t time.Time) time.Time {
	for {
		s := segmentAt(t, r.zone)
		w := r.wall.Next(t.UTC().Add(s.offset))
		if w.IsZero() {
			return time.Time{}
		}
		if at := w.Add(-s.offset); s.end.IsZero() || at.Before(s.end) {
			return at
		}
		// The first instant of the next span may be one itself.
		after := segmentAt(s.end, r.zone)
		if w := s.end.Add(after.offset); r.wall.Next(w.Add(-time.Nanosecond)).Equal(w) {
			return s.end
		}
		t = s.end
	}
}
