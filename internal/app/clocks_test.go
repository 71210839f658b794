package app_test

import (
	"strings"
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
