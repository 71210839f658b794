package bench

import (
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }

func TestExcess(t *testing.T) {
	t.Parallel()
	even := func(from, every, n int) (ts []time.Time) {
		for i := range n {
			ts = append(ts, at(from+i*every))
		}
		return ts
	}
	for _, c := range []struct {
		name string
		at   []time.Time
		want float64
	}{
		{"nobody", nil, 0},
		{"one", even(0, 1, 1), 1},
		{"evenly at the rate", even(0, 100, 50), 1},
		{"five at once in an even line", append(append(even(0, 100, 20), even(2000, 0, 5)...), even(2100, 100, 20)...), 5},
		{"a burst after a silence is not paid by the silence", append(even(0, 100, 2), even(9000, 0, 7)...), 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := excess(c.at, 10, at(0), at(60_000)); got < c.want-1e-9 || got > c.want+1e-9 {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestOvertaken(t *testing.T) {
	t.Parallel()
	a := seen{joined: at(1), lastWait: at(100), admitted: at(200)}
	b := seen{joined: at(2), lastWait: at(150), admitted: at(180)}
	c := seen{joined: at(2), lastWait: at(900), admitted: at(950)}
	d := seen{joined: at(3), lastWait: at(100), admitted: at(500)}
	for _, x := range []struct {
		name   string
		people []seen
		want   time.Duration
	}{
		{"in order", []seen{a, b}, 0},
		{"still told to wait after a later one was let in", []seen{d, c}, 400 * time.Millisecond},
		{"the same millisecond has no order", []seen{c, b}, 0},
		{"never let in after a later one was", []seen{{joined: at(0), lastWait: at(1180)}, b}, time.Second},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			if got := overtaken(x.people); got != x.want {
				t.Errorf("%v, want %v", got, x.want)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	ts := []time.Time{at(0), at(10), at(10), at(20)}
	if n := within(ts, at(0), at(20)); n != 3 {
		t.Errorf("%d, want 3: the end is outside", n)
	}
}
