package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/load"
)

func TestLags(t *testing.T) {
	t.Parallel()
	before, after := lags{}, lags{}
	before.read([]byte("sluice_mover_lag_seconds_bucket{le=\"0.1\"} 5\nsluice_mover_lag_seconds_bucket{le=\"0.2\"} 5\nsluice_mover_lag_seconds_bucket{le=\"+Inf\"} 5\n"))
	// Two nodes, exemplars and all.
	after.read([]byte("sluice_mover_lag_seconds_bucket{le=\"0.1\"} 55 # {trace_id=\"a\"} 0.05 1\nsluice_mover_lag_seconds_bucket{le=\"0.2\"} 95\nsluice_mover_lag_seconds_bucket{le=\"+Inf\"} 100\n"))
	after.read([]byte("sluice_mover_lag_seconds_bucket{le=\"0.1\"} 5.0\nsluice_mover_lag_seconds_bucket{le=\"0.2\"} 5\nsluice_mover_lag_seconds_bucket{le=\"+Inf\"} 5\nother_bucket{le=\"0.1\"} 9\n"))
	d := after.less(before)
	if d.count() != 100 {
		t.Errorf("%v steps", d.count())
	}
	for q, want := range map[float64]float64{0.55: 0.1, 0.275: 0.05, 0.75: 0.15, 0.99: 0.2} {
		if got := d.quantile(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v is %v, not %v", q, got, want)
		}
	}
}

func TestOffBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, low, high int64
		want             float64
	}{
		{1000, 990, 1010, 0}, {990, 990, 1010, 0}, {1111, 1000, 1010, 0.1}, {900, 1000, 1010, 0.1},
		{5, 0, 400, 0}, // let in meanwhile
	} {
		if got := offBy(c.shown, c.low, c.high); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d between %d and %d: off by %v, not %v", c.shown, c.low, c.high, got, c.want)
		}
	}
}

func TestTripping(t *testing.T) {
	t.Parallel()
	trip := &tripping{trigger: 3}
	for i, on := range []bool{false, false, false, false, true, false, true} { // sent in this order, 1 ms apart
		trip.got(verdict{on: on}, at(i))
	}
	if n := trip.passedAfter(); n != 2 {
		t.Errorf("%d passed after the third, not 2", n)
	}
}

func TestWindowsAreCountedExactly(t *testing.T) {
	t.Parallel()
	s := &sentLog{}
	for i := range 100 {
		s.add(at(99 - i))
	}
	s.mark(at(10), at(30))
	s.mark(at(90), at(200))
	if got := s.windows(); !slices.Equal(got, []float64{20, 10}) {
		t.Errorf("%v", got)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.of); got != c.want {
			t.Errorf("%v: %v", c.of, got)
		}
	}
}

func TestTurnsGiveEachConnectionItsOwnPart(t *testing.T) {
	t.Parallel()
	all := [][]byte{{0}, {1}, {2}, {3}}
	next := turns(all, 2)
	var got []byte
	for _, conn := range []int{0, 0, 0, 1, 1, 1} {
		got = append(got, next(conn)[0])
	}
	if string(got) != "\x00\x02\x00\x01\x03\x01" {
		t.Errorf("%v", got)
	}
}

// counted is an actor who asks twice.
type counted struct{ asked int }

func (c *counted) ask() []byte { c.asked++; return nil }

func (c *counted) got(load.Response) (time.Duration, bool) { return time.Second, c.asked < 2 }

func TestAStageBringsEachActorInItsTime(t *testing.T) {
	t.Parallel()
	s := newStage()
	a, b := &counted{}, &counted{}
	s.add(a, 25*time.Millisecond)
	s.add(b, 24*time.Hour) // longer than the wheel: at its end
	if len(s.wheel[2]) != 1 || len(s.wheel[stageSlots-1]) != 1 || s.now.Load() != 2 {
		t.Errorf("%d in slot 2, %d in the last, %d in all", len(s.wheel[2]), len(s.wheel[stageSlots-1]), s.now.Load())
	}
}

func TestTheMadeTraceIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	if a, b := madeTrace(1000), madeTrace(1000); string(a) != string(b) {
		t.Error("two traces differ")
	}
}
