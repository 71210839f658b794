package sale

import (
	"fmt"
	"slices"
	"time"
)

// A wall time is what a clock on the wall shows, kept as if it were UTC: arithmetic on it knows no zone.

// segment is a span of time with one offset from UTC. The zero end is without end.
type segment struct {
	start, end time.Time
	offset     time.Duration
}

func segmentAt(t time.Time, zone *time.Location) segment {
	local := t.In(zone)
	start, end := local.ZoneBounds()
	_, offset := local.Zone()
	end = end.UTC()
	// The library ends a year's last span after 365 days, also in leap years: on their last day the end it tells has passed.
	if year := t.UTC().Year(); end.Equal(time.Date(year, 1, 366, 0, 0, 0, 0, time.UTC)) {
		if _, still := end.In(zone).Zone(); still == offset {
			end = time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	return segment{start.UTC(), end, time.Duration(offset) * time.Second}
}

// wall gives what the clocks of the zone show at an instant.
func wall(t time.Time, zone *time.Location) time.Time { return t.UTC().Add(segmentAt(t, zone).offset) }

// widest is more than any zone differs from UTC.
const widest = 27 * time.Hour

// readings gives the instants at which the clocks of the zone show a wall time, in order: one, two where clocks are set
// back over it, none where they are set forward over it; then gap is the first instant after the gap.
func readings(w time.Time, zone *time.Location) (at []time.Time, gap time.Time) {
	var before segment
	for s := segmentAt(w.Add(-widest), zone); ; s = segmentAt(s.end, zone) {
		t := w.Add(-s.offset)
		if !t.Before(s.start) && (s.end.IsZero() || t.Before(s.end)) {
			at = append(at, t)
		}
		if gap.IsZero() && !before.end.IsZero() && !w.Before(before.end.Add(before.offset)) && w.Before(before.end.Add(s.offset)) {
			gap = before.end
		}
		if s.end.IsZero() || s.end.After(w.Add(widest)) {
			return at, gap
		}
		before = s
	}
}

// instant gives the one instant of a wall time as repeats have it: at the first of two, and where it does not exist at
// the first instant after the gap, which is told.
func instant(w time.Time, zone *time.Location) (t time.Time, moved bool) {
	at, gap := readings(w, zone)
	if len(at) > 0 {
		return at[0], false
	}
	return gap, true
}

// Doubt is a local time that the clocks of its zone show twice, or never.
type Doubt struct {
	Wall     time.Time    // what the clocks would show, as if it were UTC
	Twice    bool         // clocks are set back over it; false: forward, so that it does not exist
	Readings [2]time.Time // the instants that may be meant, in order, in the zone
}

// Doubtful reports whether a local time, as people write it, is in doubt in a zone. An instant (with Z or an offset), and
// what is no time, is not.
func Doubtful(text string, zone *time.Location) (d Doubt, is bool) {
	w, ok := parseWall(text)
	if !ok {
		return Doubt{}, false
	}
	_, d, is = certain(w, zone)
	return d, is
}

// certain gives the one instant of a wall time, or the doubt about it.
func certain(w time.Time, zone *time.Location) (t time.Time, d Doubt, doubtful bool) {
	at, gap := readings(w, zone)
	if len(at) == 1 {
		return at[0], Doubt{}, false
	}
	d = Doubt{Wall: w, Twice: len(at) > 0}
	if !d.Twice {
		// What the clocks before and after the gap would have called it.
		before, after := segmentAt(gap.Add(-time.Millisecond), zone), segmentAt(gap, zone)
		at = []time.Time{w.Add(-after.offset), w.Add(-before.offset)}
		slices.SortFunc(at, time.Time.Compare)
	}
	d.Readings = [2]time.Time{at[0].In(zone), at[1].In(zone)}
	return time.Time{}, d, true
}

// err is ErrDoubtfulTime, which names both readings.
func (d Doubt) err(field string, zone *time.Location) error {
	what := "exists twice"
	if !d.Twice {
		what = "does not exist"
	}
	a, b := d.Readings[0], d.Readings[1]
	return ErrDoubtfulTime.With(fmt.Sprintf(
		"%s: %s %s in %s, where clocks are changed then. Say which is meant by its offset: %s is %s, %s is %s.",
		field, d.Wall.Format("2006-01-02T15:04:05"), what, zone, shown(a, zone), utc(a), shown(b, zone), utc(b)))
}

func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// shown gives an instant as the zone's clocks show it, with their offset.
func shown(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2006-01-02T15:04:05-07:00")
}

// parseTime reads an instant (with Z or an offset), or a wall time of the zone (without). zone nil: a wall time needs one.
func parseTime(field, text string, zone *time.Location) (ms int64, err error) {
	if len(text) > 40 {
		return 0, badTime(field)
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return ceilMS(t), nil
	}
	if w, ok := parseWall(text); ok {
		if zone == nil {
			return 0, invalid("time_zone", "an IANA name such as Europe/Berlin: "+field+" is a local time")
		}
		t, d, doubtful := certain(w, zone)
		if doubtful {
			return 0, d.err(field, zone)
		}
		return ceilMS(t), nil
	}
	return 0, badTime(field)
}

// parseWall reads a wall time, with seconds or without.
func parseWall(text string) (w time.Time, ok bool) {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04"} {
		if w, err := time.Parse(layout, text); err == nil {
			return w, true
		}
	}
	return time.Time{}, false
}

func badTime(field string) error {
	return invalid(field, "an instant such as 2026-12-01T11:00:00Z or 2026-12-01T12:00:00+01:00, or a local time such as 2026-12-01T12:00:00")
}

// ceilMS rounds up, so that nothing happens a part of a millisecond early.
func ceilMS(t time.Time) int64 { return t.Add(time.Millisecond - time.Nanosecond).UnixMilli() }
