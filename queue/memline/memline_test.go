package memline_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
)

var limits = queue.Limits{
	Version: 1, Inflow: 10, SessionMS: 30_000, SessionRenewal: true, ClaimMS: 10_000, AbandonMS: 30_000, ReturnMS: 60_000,
	Auto: true, ReleaseAfterMS: 5_000, ReleaseRatio: 0.5,
	Trigger: queue.Trigger{Requests: 20, WindowMS: 5_000, NewVisitorsPerMinute: 100},
}

// traffic is what an item's measures are set to.
type traffic struct{ requests, newcomers, active float64 }

func newLine(tr *traffic) (*memline.Line, *clock.Hand) {
	c := clock.At(time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC))
	return memline.New(memline.Options{Clock: c, Epoch: func() int64 { return 7 }, Traffic: func(queue.Item, int64) (float64, float64, float64) {
		return tr.requests, tr.newcomers, tr.active
	}}), c
}

func act(t *testing.T, l *memline.Line, a queue.Action, cause queue.Cause) queue.SwitchReport {
	t.Helper()
	r, err := l.Switch(t.Context(), "sku-1", queue.SwitchOrder{Action: a, Cause: cause, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func step(t *testing.T, l *memline.Line) queue.StepReport {
	t.Helper()
	r, err := l.Step(t.Context(), "sku-1", queue.StepOrder{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		traffic  traffic
		released bool
	}{
		{"no traffic releases", traffic{}, true},
		{"traffic just below the ratio releases", traffic{requests: 9.9, newcomers: 49.9}, true},
		{"requests at the ratio keep the queue on", traffic{requests: 10}, false},
		{"newcomers at the ratio keep the queue on", traffic{newcomers: 50}, false},
		{"a trigger that is not set is not looked at", traffic{active: 1e9}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := &traffic{requests: 30} // the rush
			l, clk := newLine(tr)
			act(t, l, queue.Activate, queue.ByDetector)
			clk.Add(time.Minute)
			step(t, l)
			*tr = c.traffic
			step(t, l)
			clk.Add(4999 * time.Millisecond)
			if step(t, l).Released {
				t.Fatal("released before release_after was over")
			}
			clk.Add(time.Millisecond)
			if r := step(t, l); r.Released != c.released || r.Requests != c.traffic.requests && !c.released {
				t.Fatalf("released %v, want %v: %+v", r.Released, c.released, r)
			}
		})
	}
}

func TestABreakBeginsTheQuietTimeAnew(t *testing.T) {
	t.Parallel()
	tr := &traffic{}
	l, clk := newLine(tr)
	act(t, l, queue.Activate, queue.ByDetector)
	for i := range 10 { // a burst every four seconds
		*tr = traffic{requests: float64(i % 4 / 3 * 15)}
		clk.Add(time.Second)
		if step(t, l).Released {
			t.Fatalf("released after %d s", i+1)
		}
	}
}

func TestADetectorDoesNotUndoWhatAHandDid(t *testing.T) {
	t.Parallel()
	for _, how := range []queue.Action{queue.Deactivate, queue.Drain} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			tr := &traffic{requests: 30}
			l, clk := newLine(tr)
			gen := act(t, l, queue.Activate, queue.ByDetector).Header.Generation
			act(t, l, how, queue.ByOperator)
			step(t, l) // drained, where it was drained
			if act(t, l, queue.Activate, queue.ByDetector).Changed {
				t.Fatal("the detector turned the queue on again at once")
			}
			clk.Add(15 * time.Minute) // the rush goes on, and its end must be noticed
			l.Sweep()
			if act(t, l, queue.Activate, queue.ByDetector).Changed {
				t.Fatal("the detector turned the queue on again later in the same rush")
			}
			tr.requests = 9
			step(t, l)
			tr.requests = 30
			r := act(t, l, queue.Activate, queue.ByDetector)
			if !r.Changed || r.Header.Generation <= gen {
				t.Fatalf("the next rush did not turn the queue on: %+v", r)
			}
			if r := act(t, l, queue.Deactivate, queue.ByOperator); !r.Changed {
				t.Fatal("not turned off")
			}
			if !act(t, l, queue.Activate, queue.ByOperator).Changed {
				t.Fatal("an operator is never refused")
			}
		})
	}
}

// B137, B152: what was on leaves nothing behind.
func TestItemsOfThePastAreForgotten(t *testing.T) {
	t.Parallel()
	l, clk := newLine(&traffic{})
	for i := range 1000 {
		id := queue.Item(fmt.Sprintf("sku-%d", i))
		if _, err := l.Ask(t.Context(), id, []queue.Ask{{Visitor: "0123456789abcdef", Create: true}}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Switch(t.Context(), id, queue.SwitchOrder{Action: queue.Pause, Limits: limits}); err == nil {
			t.Fatal("paused a queue that is off")
		}
		if i%100 == 0 {
			if _, err := l.Switch(t.Context(), id, queue.SwitchOrder{Action: queue.Activate, Limits: limits}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(l.Items()); n != 10 {
		t.Fatalf("%d items are kept, want those with a queue: 10", n)
	}
	for _, id := range l.Items() {
		if _, err := l.Switch(t.Context(), id, queue.SwitchOrder{Action: queue.Deactivate}); err != nil {
			t.Fatal(err)
		}
	}
	clk.Add(10*time.Minute - time.Millisecond)
	if n := l.Sweep(); n != 0 {
		t.Fatalf("%d forgotten too early", n)
	}
	if h, _ := l.Look(t.Context(), "sku-0"); h.Header.Generation == 0 {
		t.Fatal("the header is gone too early")
	}
	clk.Add(time.Millisecond)
	if n := l.Sweep(); n != 10 || len(l.Items()) != 0 {
		t.Fatalf("%d forgotten, %d kept", n, len(l.Items()))
	}
}

func TestStepSaysWhenTheNextIsNeeded(t *testing.T) {
	t.Parallel()
	l, clk := newLine(&traffic{})
	act(t, l, queue.Activate, queue.ByOperator)
	due := func() int64 { r := step(t, l); return r.DueMS - r.NowMS }
	if d := due(); d != 1000 {
		t.Errorf("nobody waits: due in %d ms, want 1000", d)
	}
	join := func(v queue.Visitor) {
		if _, err := l.Ask(t.Context(), "sku-1", []queue.Ask{{Visitor: v, Create: true}}); err != nil {
			t.Fatal(err)
		}
	}
	join("0123456789abcdef")
	join("0123456789abcdeg")
	if d := due(); d != 100 {
		t.Errorf("a token in a tenth of a second: due in %d ms", d)
	}
	clk.Add(100 * time.Millisecond)
	step(t, l)
	clk.Add(9_950 * time.Millisecond)
	step(t, l) // the other one goes in; the first one's claim ends in 50 ms
	if d := due(); d != 50 {
		t.Errorf("a claim ends in 50 ms: due in %d ms", d)
	}
}

func BenchmarkAskInALongLine(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		l := memline.New(memline.Options{})
		if _, err := l.Switch(b.Context(), "sku-1", queue.SwitchOrder{Action: queue.Activate, Limits: limits}); err != nil {
			b.Fatal(err)
		}
		names := make([]queue.Visitor, n)
		asks := make([]queue.Ask, 1)
		for i := range names {
			names[i] = queue.Visitor(fmt.Sprintf("visitor-%08d", i))
			asks[0] = queue.Ask{Visitor: names[i], Create: true}
			l.Ask(b.Context(), "sku-1", asks)
		}
		b.Run(fmt.Sprintf("poll/%d waiting", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				asks[0] = queue.Ask{Visitor: names[i*7919%n]}
				l.Ask(b.Context(), "sku-1", asks)
			}
		})
		b.Run(fmt.Sprintf("join and leave/%d waiting", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				v := names[i*7919%n]
				l.End(b.Context(), "sku-1", queue.Ending{Kind: queue.Leave, Visitor: v})
				asks[0] = queue.Ask{Visitor: v, Create: true}
				l.Ask(b.Context(), "sku-1", asks)
			}
		})
	}
}

func BenchmarkStepThatAdmits(b *testing.B) {
	c := clock.At(time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC))
	l := memline.New(memline.Options{Clock: c})
	own := limits
	own.AbandonMS, own.Inflow = 86_400_000, 1000
	if _, err := l.Switch(b.Context(), "sku-1", queue.SwitchOrder{Action: queue.Activate, Limits: own}); err != nil {
		b.Fatal(err)
	}
	next := 0
	for b.Loop() { // 250 join, 250 go in, 250 do not come
		asks := make([]queue.Ask, 250)
		for i := range asks {
			asks[i] = queue.Ask{Visitor: queue.Visitor(fmt.Sprintf("visitor-%08d", next)), Create: true}
			next++
		}
		l.Ask(b.Context(), "sku-1", asks)
		c.Add(250 * time.Millisecond)
		l.Step(b.Context(), "sku-1", queue.StepOrder{Limits: own, Most: 600})
	}
}
