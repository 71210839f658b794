package app_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// skewed is a machine's clock that is wrong by a fixed amount.
type skewed time.Duration

func (s skewed) Now() time.Time { return time.Now().Add(time.Duration(s)) }

// B139, B080: the store's clock orders the line and times the passes, whatever the nodes' clocks say.
func TestTheClocksOfNodesDoNotMatter(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	clocks := []time.Duration{0, -3 * time.Second, 3 * time.Second, time.Hour}
	for i, c := range clocks {
		r.start(i, skewed(c))
	}
	r.policy("sku-1", map[string]any{"mode": "on", "inflow_per_second": 0})
	r.visitor().check(0, "sku-1")
	visitors := make([]*visitor, 200)
	for k := range visitors {
		visitors[k] = r.visitor()
		a := visitors[k].check(k%len(clocks), "sku-1")
		if got, want := a.position(), int64(k+2); got != want {
			t.Fatalf("visitor %d has position %d, want %d: the order is that of arrival", k, got, want)
		}
		if ahead := time.Until(a.Place.JoinedAt); ahead > 50*time.Millisecond {
			t.Fatalf("joined %v in the future", ahead)
		}
	}
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": 50})
	r.eventually(3*time.Second, "fifty are let in", func() bool { return r.must("GET", "/items/sku-1", nil)["running"] == float64(50) })
	for k, v := range visitors[:40] {
		let := v.status(k%len(clocks), "sku-1")
		if let.Action != "pass" || let.Pass == nil {
			t.Fatalf("visitor %d: %s/%s", k, let.Action, let.Reason)
		}
		if left := time.Until(let.Pass.ExpiresAt); left < 295*time.Second || left > 301*time.Second {
			t.Errorf("the pass of visitor %d holds for %v, want 300 s", k, left)
		}
		if a := v.check((k+1)%len(clocks), "sku-1"); a.Reason != "pass_valid" {
			t.Errorf("visitor %d at another node: %s/%s", k, a.Action, a.Reason)
		}
	}
	if !strings.Contains(r.nodes[3].log.String(), "clock differs") || strings.Contains(r.nodes[0].log.String(), "clock differs") {
		t.Errorf("a node whose clock is wrong by an hour says so, one whose clock is right does not")
	}
}

// jumping is a machine's clock that is set forward and back.
type jumping struct{ ahead atomic.Int64 }

func (j *jumping) Now() time.Time { return time.Now().Round(0).Add(time.Duration(j.ahead.Load())) }

func (j *jumping) set(to time.Time) { j.ahead.Store(int64(time.Until(to))) }

// B055: a clock that is two hours ahead for a while, and set right again, leaves out no time of a sale that repeats, stops
// no line, lets in no more than was set, and moves nobody back.
func TestAClockThatIsWrongForAWhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.redis = nil
	c := &jumping{}
	three := time.Date(2031, 5, 7, 15, 0, 0, 0, time.UTC)
	c.set(three.Add(55 * time.Second))
	r.start(0, c)
	to := r.receive(nil)
	r.must("PUT", "/sales/often", map[string]any{
		"name": "Often", "item": "often", "time_zone": "UTC", "opens_at": three.Add(time.Minute), "closes_at": three.Add(80 * time.Second), "repeat": "* * * * *",
	})
	const rate, people = 10, 400
	r.policy("line", map[string]any{"inflow_per_second": rate, "claim_seconds": 3600})
	r.activate("line")
	r.must("POST", "/items/line/pause", nil)
	for range people {
		r.visitor().check(0, "line")
	}
	last := r.visitor()
	position := last.check(0, "line").position()
	r.must("POST", "/items/line/resume", nil)
	// watch looks on for some seconds of the clock, and checks that the line goes on.
	watch := func(seconds float64) {
		t.Helper()
		books, _ := r.books("line")
		before, begun := books["admitted"], time.Now()
		for time.Since(begun).Seconds() < seconds {
			if now := last.status(0, "line").position(); now > position {
				t.Fatalf("position %d after %d", now, position)
			} else {
				position = now
			}
			until(50 * time.Millisecond)
		}
		books, _ = r.books("line")
		took := time.Since(begun).Seconds()
		if in := books["admitted"] - before; in < rate*(took-2) || in > rate*took+rate+1 {
			t.Errorf("%v let in within %.1f s at %d a second", in, took, rate)
		}
	}
	until(three.Add(time.Minute).Sub(c.Now()))
	watch(2)
	c.set(three.Add(2*time.Hour + 58*time.Second))
	watch(4) // 17:01 is one
	c.set(three.Add(time.Minute + 56*time.Second))
	watch(6) // 15:02
	r.eventually(3*time.Second, "the openings are told", func() bool { return len(to.of("sale.opened", "often")) == 3 })
	for i, want := range []time.Time{three.Add(time.Minute), three.Add(2*time.Hour + time.Minute), three.Add(2 * time.Minute)} {
		m := to.of("sale.opened", "often")[i]
		if late := m.Time.Sub(want); m.Data["opens_at"] != millis(want) || late < 0 || late > time.Second {
			t.Errorf("the opening of %v is told as %v", want, m)
		}
	}
}
