package sale

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "time/tzdata" // rules of another source than the ones under test
)

// minute is one minute on the clocks of a wall.
type minute struct {
	n    int64    // since the epoch
	part [5]uint8 // minute, hour, day, month, weekday: as an expression names them
}

func minuteOf(n int64) minute {
	w := time.Unix(60*n, 0).UTC()
	return minute{n, [5]uint8{uint8(w.Minute()), uint8(w.Hour()), uint8(w.Day()), uint8(w.Month()), uint8(w.Weekday())}}
}

// fits are the numbers that each part of an expression names.
type fits [5][60]bool

// fitsOf reads an expression of numbers, lists, stars and steps.
func fitsOf(expression string) (f fits) {
	for i, field := range strings.Fields(expression) {
		low := 0
		if i == 2 || i == 3 {
			low = 1
		}
		for v := low; v < 60; v++ {
			f[i][v] = slices.ContainsFunc(strings.Split(field, ","), func(part string) bool {
				if part == "*" {
					return true
				}
				if step, ok := strings.CutPrefix(part, "*/"); ok {
					n, _ := strconv.Atoi(step)
					return (v-low)%n == 0
				}
				n, _ := strconv.Atoi(part)
				return n == v
			})
		}
	}
	return f
}

func (f *fits) at(m minute) bool {
	return f[0][m.part[0]] && f[1][m.part[1]] && f[2][m.part[2]] && f[3][m.part[3]] && f[4][m.part[4]]
}

// wallOf lists what the clocks of a zone show, minute by minute.
func wallOf(zone *time.Location, from, until time.Time) (all []minute) {
	for t := from; t.Before(until); t = t.Add(time.Minute) {
		_, offset := t.In(zone).Zone()
		all = append(all, minuteOf((t.Unix()+int64(offset))/60))
	}
	return all
}

// minutes computes the instants at which an expression fires, minute by minute: whenever the clocks show a time that
// fits, where it goes by elapsed time; else at the first minute that shows a time or, where it is left out, the next.
func minutes(expression string, clocks []minute, from time.Time) (at []time.Time) {
	elapsed := strings.ContainsAny(strings.Fields(expression)[1], "*/")
	f := fitsOf(expression)
	highest := clocks[0].n - 1 // what has been shown or passed over
	for i, now := range clocks {
		due := elapsed && f.at(now)
		for highest < now.n {
			highest++
			switch {
			case elapsed:
			case highest == now.n:
				due = due || f.at(now)
			default: // left out
				due = due || f.at(minuteOf(highest))
			}
		}
		if due {
			at = append(at, from.Add(time.Duration(i)*time.Minute))
		}
	}
	return at
}

// B047, B049, B050: over two years repeats fire as a computation minute by minute says, which knows nothing of gaps.
func TestRepeatsFireAsAMinuteByMinuteComputationSays(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Asia/Seoul", "Australia/Lord_Howe", "Africa/Casablanca"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := Zone(name)
			if err != nil {
				t.Fatal(err)
			}
			other, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			from := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
			until := from.AddDate(2, 0, 0)
			clocks := wallOf(other, from, until)
			for _, expression := range []string{
				"30 2 * * *", "15,45 1,2,3 * * *", "0 0 * * *", "0 * * * *", "*/20 */2 * * *", "0 3 * * 0", "45 1 1 * *", "*/7 2 * * *", "0 12 * * 5",
			} {
				want := minutes(expression, clocks, from)
				r, err := parseRepeat(expression, zone)
				if err != nil {
					t.Fatal(err)
				}
				var got []time.Time
				for at, _ := r.next(from.Add(-time.Second)); at.Before(until); at, _ = r.next(at) {
					if n := len(got); at.IsZero() || n > 0 && !at.After(got[n-1]) {
						t.Fatalf("%s: %v after %d others", expression, at, n)
					}
					got = append(got, at.UTC())
				}
				for i := range min(len(got), len(want)) {
					if !got[i].Equal(want[i]) {
						t.Fatalf("%s: occurrence %d at %v, want %v", expression, i, got[i].In(zone), want[i].In(zone))
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s: %d occurrences, want %d", expression, len(got), len(want))
				}
			}
		})
	}
}
