package queue_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/queue"
)

func TestEstimateWait(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tc := range []struct {
		name     string
		position int64
		flow     queue.Flow
		known    bool
		wait     time.Duration
	}{
		{"the next one waits for one token", 1, queue.Flow{InflowPerSecond: 100}, true, 10 * time.Millisecond}, // B014
		{"the thousandth waits for a thousand", 1000, queue.Flow{InflowPerSecond: 50}, true, 20 * s},
		{"the rate fell to a hair", 4000, queue.Flow{InflowPerSecond: 0.2}, true, 20_000 * s}, // B098
		{"people ahead will leave", 1001, queue.Flow{InflowPerSecond: 1, Turnout: 0.8}, true, 801 * s},
		{"an unknown turnout is a full one", 1001, queue.Flow{InflowPerSecond: 1}, true, 1001 * s},
		{"a turnout that cannot be is a full one", 1001, queue.Flow{InflowPerSecond: 1, Turnout: 1.5}, true, 1001 * s},
		{"a full house lets in what it lets out", 100, queue.Flow{InflowPerSecond: 50, FreedPerSecond: 2}, true, 50 * s},
		{"room becomes free faster than people go in", 100, queue.Flow{InflowPerSecond: 2, FreedPerSecond: 50}, true, 50 * s},
		{"no bound on the room", 100, queue.Flow{InflowPerSecond: 2, FreedPerSecond: math.Inf(1)}, true, 50 * s},
		{"nobody goes in for a while", 100, queue.Flow{InflowPerSecond: 2, Held: 7 * s}, true, 57 * s},
		{"a wait beyond all counting", 1_000_000_000, queue.Flow{InflowPerSecond: 1e-9}, true, queue.MaxNumber * s},
		{"no inflow", 1, queue.Flow{}, false, 0}, // B142
		{"no inflow, and room", 1, queue.Flow{FreedPerSecond: 5}, false, 0},
		{"an inflow below none", 1, queue.Flow{InflowPerSecond: -1}, false, 0},
		{"a place that is none", 0, queue.Flow{InflowPerSecond: 1}, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := queue.EstimateWait(tc.position, tc.flow)
			if e.Known != tc.known || (e.Wait-tc.wait).Abs() > time.Microsecond {
				t.Errorf("%+v, want %s", e, tc.wait)
			}
			if !tc.known && e != (queue.Estimate{}) {
				t.Errorf("unknown, yet %+v", e)
			}
		})
	}
}

func drawFlow(t *rapid.T) (int64, queue.Flow) {
	return rapid.Int64Range(1, queue.MaxNumber).Draw(t, "position"), queue.Flow{
		InflowPerSecond: rapid.Float64Range(1e-9, queue.MaxNumber).Draw(t, "inflow"),
		Turnout:         rapid.Float64Range(0, 1).Draw(t, "turnout"),
		FreedPerSecond:  rapid.OneOf(rapid.Just(0.0), rapid.Just(math.Inf(1)), rapid.Float64Range(0, 1e6)).Draw(t, "freed"),
		Held:            time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "held")),
	}
}

func TestTheBandHoldsTheEstimateAndIsNarrow(t *testing.T) { // honest-eta
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		position, f := drawFlow(t)
		e := queue.EstimateWait(position, f)
		if !e.Known || e.Low < 0 || e.Low > e.Wait || e.Wait > e.High {
			t.Fatalf("%+v", e)
		}
		most := time.Duration(0.35*float64(e.Wait)) + time.Microsecond
		if e.High-e.Wait > most || e.Wait-e.Low > most {
			t.Fatalf("%+v is wider than 35 %%", e)
		}
	})
}

// B098
func TestNobodyWithSomebodyInFrontWaitsNoTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		position := rapid.Int64Range(2, 10_000_000).Draw(t, "position")
		e := queue.EstimateWait(position, queue.Flow{
			InflowPerSecond: rapid.OneOf(rapid.Float64Range(1e-9, 1), rapid.Float64Range(1, 1_000_000)).Draw(t, "inflow"),
			Turnout:         rapid.Float64Range(0, 1).Draw(t, "turnout"),
		})
		if !e.Known || e.Low <= 0 {
			t.Fatalf("place %d: %+v", position, e)
		}
	})
}

func TestNobodyFurtherBackWaitsLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		position, f := drawFlow(t)
		ahead := rapid.Int64Range(1, position).Draw(t, "ahead")
		if a, b := queue.EstimateWait(ahead, f), queue.EstimateWait(position, f); a.Wait > b.Wait || a.High > b.High {
			t.Fatalf("%d: %+v, %d: %+v", ahead, a, position, b)
		}
	})
}

// TestTheBandHoldsFourOutcomesOfFive: each of those ahead leaves or stays by the toss of a coin, and the rate is as set
// to within a tenth.
func TestTheBandHoldsFourOutcomesOfFive(t *testing.T) { // honest-eta
	t.Parallel()
	const outcomes, inflow = 500, 50
	draw := rand.New(rand.NewPCG(1, 2))
	for _, position := range []int64{101, 300, 1000, 5000} {
		for _, turnout := range []float64{1, 0.8, 0.5} {
			e := queue.EstimateWait(position, queue.Flow{InflowPerSecond: inflow, Turnout: turnout})
			held := 0
			for range outcomes {
				stay := 1
				for range position - 1 {
					if draw.Float64() < turnout {
						stay++
					}
				}
				rate := inflow * (0.9 + 0.2*draw.Float64())
				if w := time.Duration(float64(stay) / rate * float64(time.Second)); e.Low <= w && w <= e.High {
					held++
				}
			}
			if held < outcomes*4/5 {
				t.Errorf("position %d, turnout %g: the band holds %d of %d", position, turnout, held, outcomes)
			}
		}
	}
}

func TestPollAfter(t *testing.T) {
	t.Parallel()
	const s = time.Second
	limits := queue.DefaultPolicy().Limits(1)
	short := queue.Limits{AbandonMS: 30_000, ClaimMS: 10_000}
	wait := func(d time.Duration) queue.Estimate { return queue.Estimate{Known: true, Wait: d, Low: d, High: d} }
	for _, tc := range []struct {
		name          string
		e             queue.Estimate
		l             queue.Limits
		crowd, jitter float64
		want          time.Duration
	}{
		{"a tenth of the wait", wait(120 * s), limits, 1, 0.5, 12 * s},
		{"at the head each second, and no sooner", wait(0), limits, 1, 0, s},
		{"at the head a tenth later", wait(0), limits, 1, 0.5, 1050 * time.Millisecond},
		{"far away each half minute, and no later", wait(time.Hour), limits, 1, math.Nextafter(1, 0), 30 * s},
		{"far away a tenth sooner", wait(time.Hour), limits, 1, 0, 27 * s},
		{"nobody knows how long", queue.Estimate{}, limits, 1, math.Nextafter(1, 0), 30 * s},
		{"a tenth sooner", wait(120 * s), limits, 1, 0, 10_800 * time.Millisecond},
		{"a line twice as long as its budget", wait(100 * s), limits, 2, 0.5, 20 * s},
		{"a line within its budget is not hurried", wait(100 * s), limits, 0.1, 0.5, 10 * s},
		{"never so late that silence ends the place", wait(time.Hour), limits, 100, math.Nextafter(1, 0), 40 * s},
		{"a line of everybody on earth", wait(time.Hour), limits, 1e9, math.Nextafter(1, 0), 40 * s},
		{"never so late that the claim is missed", wait(time.Hour), short, 1, math.Nextafter(1, 0), 5 * s},
		{"those too are spread", wait(time.Hour), short, 1, 0, 4500 * time.Millisecond},
		{"a third of the abandon time", wait(time.Hour), queue.Limits{AbandonMS: 30_000, ClaimMS: 120_000}, 1, math.Nextafter(1, 0), 10 * s},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := queue.PollAfter(tc.e, tc.l, tc.crowd, tc.jitter); (got - tc.want).Abs() > time.Millisecond {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestPollAfterKeepsItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := queue.Limits{
			AbandonMS: rapid.Int64Range(30, 86_400).Draw(t, "abandon") * 1000,
			ClaimMS:   rapid.Int64Range(10, 3600).Draw(t, "claim") * 1000,
		}
		var e queue.Estimate
		if rapid.Bool().Draw(t, "known") {
			position, f := drawFlow(t)
			e = queue.EstimateWait(position, f)
		}
		crowd := rapid.OneOf(rapid.Float64Range(0, 3), rapid.Float64Range(0, queue.MaxNumber)).Draw(t, "crowd")
		jitter := rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "jitter")
		got := queue.PollAfter(e, l, crowd, jitter)

		most := min(time.Duration(l.AbandonMS)*time.Millisecond/3, time.Duration(l.ClaimMS)*time.Millisecond/2)
		if got < time.Second || got > most {
			t.Fatalf("%s, want 1 s to %s", got, most)
		}
		if crowd <= 1 && got > 30*time.Second {
			t.Fatalf("%s without a crowd", got)
		}
		if late := queue.PollAfter(e, l, crowd, math.Nextafter(1, 0)); late-queue.PollAfter(e, l, crowd, 0) < late/12 {
			t.Fatalf("all who wait alike ask at the same time, %s", late) // a herd that never disperses
		}
		want := 30.
		if e.Known {
			want = min(max(e.Wait.Seconds()/10, 1), 30)
		}
		if want = min(want*max(crowd, 1), most.Seconds()); math.Abs(got.Seconds()/want-1) > 0.1001 {
			t.Fatalf("%s for %g s is further off than a tenth", got, want)
		}
	})
}
