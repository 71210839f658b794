package app_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// B139: traffic just below the trigger turns nothing on, whatever the clocks of the nodes that count it say; and how wrong
// a clock is can be seen.
func TestWrongClocksMakeNoRush(t *testing.T) {
	t.Parallel()
	// A short window is counted in coarser parts than its hundredth, so that the short form keeps more of a distance.
	seconds, window, trigger := 5, 2, 110
	if full {
		seconds, window, trigger = 25, 10, 500
	}
	r := newRig(t, 0)
	clocks := []time.Duration{0, -3 * time.Second, 3 * time.Second, time.Hour}
	for i, c := range clocks {
		r.start(i, skewed(c))
	}
	r.policy("*", map[string]any{"trigger_requests": trigger, "trigger_window_seconds": window})
	tick := time.NewTicker(time.Second / 49)
	defer tick.Stop()
	began := time.Now()
	sent := 0
	for ; time.Since(began) < time.Duration(seconds)*time.Second; sent++ {
		if a := r.visitor().check(sent%len(clocks), "sku-1"); a.Reason != "queue_off" {
			t.Fatalf("request %d: %s/%s at 49 a second, want off below %d in %d s", sent, a.Action, a.Reason, trigger, window)
		}
		<-tick.C
	}
	if n := r.traffic("sku-1"); n > float64(trigger) || sent >= 48*seconds && n < 0.8*49*float64(window) {
		t.Errorf("the traffic reads %v after %d requests in %d s, in a window of %d s", n, sent, seconds, window)
	}
	r.eventually(2*time.Second, "each node shows how wrong its clock is", func() bool {
		for i, c := range clocks {
			if off := r.metrics(i)["sluice_clock_skew_seconds"]; off+c.Seconds() > 0.5 && off-c.Seconds() > 0.5 || off+c.Seconds() < -0.5 && off-c.Seconds() < -0.5 {
				return false
			}
		}
		return true
	})
}

// B137, B139: in real time, with nobody asking meanwhile, everything ends when it should, alike in both stores: an
// admission that nobody claims, a session, a place of one who is silent, and at last the queue itself.
func TestEverythingEndsByItself(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("SKIPPED: takes a minute and a half; the lines' suite does it on a virtual clock. Run by: make cases")
	}
	rigs := map[string]*rig{"redis": newRig(t, 0), "memory": newMemoryRig(t)}
	for i, c := range []time.Duration{0, -3 * time.Second, time.Hour} {
		rigs["redis"].start(i, skewed(c))
	}
	for name, r := range rigs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := len(r.nodes) - 1
			r.policy("sku-1", map[string]any{
				"session_seconds": 30, "claim_seconds": 10, "abandon_seconds": 30, "release_after_seconds": 5, "inflow_per_second": 1,
				"trigger_requests": 20, "trigger_window_seconds": 5,
			})
			r.checks(0, "sku-1", 25)
			r.eventually(time.Second, "the queue is on", func() bool { return r.must("GET", "/items/sku-1", nil)["state"] == "open" })
			r.must("POST", "/items/sku-1/inflow", map[string]any{"inflow_per_second": 0})
			r.policy("sku-2", map[string]any{"mode": "on", "session_seconds": 30, "claim_seconds": 10, "inflow_per_second": 10})
			until(1100 * time.Millisecond)
			claims := r.visitor()
			r.eventually(3*time.Second, "one is inside", func() bool { return claims.check(last, "sku-2").Action == "pass" })
			claimed := time.Now()
			patient := r.visitor()
			patient.check(last, "sku-1")
			lined := time.Now()
			before, _ := r.books("sku-1")
			// From here on nobody says a word: all but the last are let in and do not come, the last stays in line.
			r.must("POST", "/items/sku-1/admit", map[string]any{"count": before["waiting"] - 1})
			r.eventually(3*time.Second, "all but one are in", func() bool { b, _ := r.books("sku-1"); return b["waiting"] == 1 })
			admitted := time.Now()
			is := func(at time.Time, item, what string, want map[string]float64) {
				t.Helper()
				until(time.Until(at))
				b, live := r.books(item)
				for k, n := range want {
					if b[k] != n {
						t.Errorf("%s, %s: %s is %v, want %v", item, what, k, b[k], n)
					}
				}
				if !balanced(live) {
					t.Errorf("%s, %s: books %v", item, what, b)
				}
			}
			gone := before["waiting"] - 1
			is(admitted.Add(8500*time.Millisecond), "sku-1", "before the claim time", map[string]float64{"no_show": 0, "running": before["running"] + gone})
			is(admitted.Add(11500*time.Millisecond), "sku-1", "after it", map[string]float64{"no_show": gone})
			is(lined.Add(29*time.Second), "sku-1", "before anybody is silent", map[string]float64{"waiting": 1, "abandoned": 0})
			r.eventually(time.Until(lined.Add(34*time.Second)), "the silent one has left", func() bool { b, _ := r.books("sku-1"); return b["waiting"] == 0 })
			quiet := time.Now()
			is(claimed.Add(33500*time.Millisecond), "sku-2", "while a pass is accepted for a moment longer", map[string]float64{"running": 1})
			is(claimed.Add(36500*time.Millisecond), "sku-2", "after the session", map[string]float64{"running": 0, "finished": 1})
			r.eventually(time.Until(quiet.Add(7*time.Second)), "the queue is released", func() bool { return r.must("GET", "/items/sku-1", nil)["state"] == "off" })
			rows, _ := r.must("GET", "/activations?item=sku-1", nil)["activations"].([]any)
			if len(rows) != 1 {
				t.Errorf("history %v", rows)
			}
		})
	}
}

// B137, invariant bounded: any number of items of which each is asked for once leave a node without a store as it was.
func TestManyItemsLeaveNothingInANodeWithoutAStore(t *testing.T) {
	t.Parallel()
	items := 5000
	if full {
		items = 100_000
	}
	r := newMemoryRig(t)
	ask := func(from, to int) {
		together(16, func(k int) {
			for i := from + k; i < to; i += 16 {
				req, err := http.NewRequest("GET", "http://"+r.nodes[0].Addresses().Visitor+fmt.Sprintf("/v1/items/made-up-%d/check", i), nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := r.client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				if body := read(resp); !strings.Contains(body, `"queue_off"`) {
					t.Errorf("item %d: %s", i, body)
				}
			}
		})
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	ask(0, 1000)
	before := heap()
	ask(1000, items)
	until(1200 * time.Millisecond) // a survey of the counts
	if grown := heap() - before; grown > 24<<20 {
		t.Errorf("the heap grew by %d bytes for %d items", grown, items)
	}
	if series := len(r.metrics(0)); series > 2000 {
		t.Errorf("%d series of metrics", series)
	}
}
