package app_test

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// B019, B143: whatever the number, it goes into the script and comes out as the inflow that was set.
func TestAnyInflowIsTheOneThatWasSet(t *testing.T) {
	t.Parallel()
	span := 6 * time.Second
	if full {
		span = 20 * time.Second
	}
	r := newRig(t, 2)
	inflows := map[string]float64{"hair": 0.00001, "tenth": 0.1, "million": 1e6, "thirds": 33.333333333333336, "one": 1}
	windows := map[string]int{"hair": 1, "tenth": 600, "million": 1, "thirds": 600, "one": 10}
	for item, inflow := range inflows {
		r.must("PATCH", "/policies/"+item, map[string]any{
			"mode": "on", "inflow_per_second": inflow, "trigger_window_seconds": windows[item],
		})
	}
	until(1100 * time.Millisecond) // modes are looked at each second
	began := map[string]time.Time{}
	people := map[string][]*visitor{}
	inside := map[string]int{}
	for item := range inflows {
		began[item] = time.Now()
		people[item] = make([]*visitor, 50)
		var in atomic.Int64
		together(5, func(k int) {
			for i := k; i < 50; i += 5 {
				v := r.visitor()
				a, err := v.call(i%2, "GET", "/v1/items/"+item+"/check")
				if err != nil || a.Status != http.StatusOK {
					t.Errorf("%s: %d, %v", item, a.Status, err)
				}
				if a.Action == "pass" {
					in.Add(1)
				}
				people[item][i] = v
			}
		})
		inside[item] = int(in.Load())
	}
	until(span)
	for item, inflow := range inflows {
		took := time.Since(began[item]).Seconds()
		got := r.must("GET", "/items/"+item, nil)["books"].(map[string]any)["admitted"].(float64)
		// What the bucket held when the first came: up to two seconds' worth since its queue went on.
		least, most := min(50, math.Floor(inflow*(took-1))), min(50, inflow*(took+2.5)+1)
		if got < least || got > most {
			t.Errorf("%s: %v let in after %.1f s at %v a second, want %v to %v", item, got, took, inflow, least, most)
		}
	}
	for i, n := range r.nodes {
		if log := strings.ToLower(n.log.String()); strings.Contains(log, "script") || strings.Contains(log, `"severitytext":"error"`) {
			t.Errorf("log of node %d: %s", i, log)
		}
	}
}

// B142: at inflow 0 nobody goes in but by hand, exactly as many as ordered, and no waiting time is shown.
func TestInflowZeroLetsNobodyIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.policy("sku-1", map[string]any{"inflow_per_second": 50, "max_active_users": 10})
	r.activate("sku-1")
	r.must("POST", "/items/sku-1/inflow", map[string]any{"inflow_per_second": 0})
	people := make([]*visitor, 20)
	for i := range people {
		people[i] = r.visitor()
		if a := people[i].check(i%2, "sku-1"); a.Action != "wait" || a.Place.EtaSeconds != nil {
			t.Fatalf("visitor %d: %s/%s, %+v", i, a.Action, a.Reason, a.Place)
		}
	}
	admitted := func() float64 { b, _ := r.books("sku-1"); return b["admitted"] }
	until(1500 * time.Millisecond)
	if n := admitted(); n != 0 {
		t.Errorf("%v let in at inflow 0", n)
	}
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": 3})
	r.eventually(2*time.Second, "three are let in", func() bool { return admitted() == 3 })
	until(time.Second)
	if n := admitted(); n != 3 {
		t.Errorf("%v let in, want the 3 ordered", n)
	}
	r.must("POST", "/items/sku-1/inflow", map[string]any{"inflow_per_second": nil})
	r.eventually(2*time.Second, "the policy's inflow fills the room", func() bool { return admitted() == 10 })
	if a := people[19].status(0, "sku-1"); a.Place == nil || a.Place.EtaSeconds == nil {
		t.Errorf("with an inflow again no time is shown: %+v", a)
	}
}

// lost sends a visitor's request to the i-th node and hangs up, as by a reset, before it reads the answer.
func (v *visitor) lost(i int, path string) {
	v.r.t.Helper()
	conn, err := net.Dial("tcp", v.r.nodes[i].Addresses().Visitor)
	if err != nil {
		v.r.t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop.test\r\nSluice-Visitor: %s\r\nSluice-Ticket: %s\r\n\r\n", path, v.token, v.ticket)
	one := make([]byte, 1)
	if _, err := conn.Read(one); err != nil { // the node has done its work once the answer begins
		v.r.t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// B101: at a very low rate people go in one by one, evenly; whoever lost the answer that let them in asks again and is in.
func TestAVeryLowRateAndLostAnswers(t *testing.T) {
	t.Parallel()
	inflow, people, gap, off, retry := 1.0, 4, time.Second, 400*time.Millisecond, 300*time.Millisecond
	if full {
		inflow, people, gap, off, retry = 0.08333, 20, 12*time.Second, 2*time.Second, 3*time.Second
	}
	r := newRig(t, 2)
	r.policy("sku-1", map[string]any{"inflow_per_second": 0, "abandon_seconds": 3600})
	r.activate("sku-1")
	visitors := make([]*visitor, people)
	for i := range visitors {
		visitors[i] = r.visitor()
		visitors[i].check(i%2, "sku-1")
	}
	last := time.Now()
	r.must("POST", "/items/sku-1/inflow", map[string]any{"inflow_per_second": inflow})
	var retries sync.WaitGroup
	for i, v := range visitors {
		r.eventually(gap+off, fmt.Sprintf("visitor %d is let in", i), func() bool {
			b, _ := r.books("sku-1")
			return b["admitted"] > float64(i)
		})
		if since := time.Since(last); since < gap-off {
			t.Errorf("visitor %d was let in %v after the one before, want %v ± %v", i, since, gap, off)
		}
		last = time.Now()
		retries.Go(func() {
			v.lost(i%2, "/v1/items/sku-1/status")
			until(retry)
			a, err := v.call((i+1)%2, "GET", "/v1/items/sku-1/status")
			if err != nil || a.Reason != "admitted" || a.Pass == nil {
				t.Errorf("visitor %d asks again: %d %s/%s, %v", i, a.Status, a.Action, a.Reason, err)
				return
			}
			if a, err := v.call(i%2, "GET", "/v1/items/sku-1/check"); err != nil || a.Reason != "pass_valid" {
				t.Errorf("the pass of visitor %d: %s/%s, %v", i, a.Action, a.Reason, err)
			}
		})
	}
	retries.Wait()
	if b, live := r.books("sku-1"); b["joined"] != float64(people) || b["running"] != float64(people) || !balanced(live) {
		t.Errorf("books %v", b)
	}
}

// B001: those who leave without a word use up no slots: everybody who polls gets in.
func TestTheSilentUseUpNoSlots(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("SKIPPED: takes most of a minute; the line's own suite does it on a virtual clock. Run by: make cases")
	}
	r := newRig(t, 2)
	r.policy("sku-1", map[string]any{
		"mode": "on", "max_active_users": 10, "inflow_per_second": 100, "claim_seconds": 10, "abandon_seconds": 30, "session_seconds": 30,
	})
	until(1100 * time.Millisecond)
	r.must("POST", "/items/sku-1/pause", nil)
	people := make([]*visitor, 30)
	for i := range people {
		people[i] = r.visitor()
		people[i].check(i%2, "sku-1")
	}
	r.must("POST", "/items/sku-1/resume", nil)
	running := func() float64 {
		b, _ := r.books("sku-1")
		if b["running"] > 10 {
			t.Errorf("%v inside at once", b["running"])
		}
		return b["running"]
	}
	for i, v := range people[:10] {
		r.eventually(3*time.Second, "the first ten are in", func() bool { running(); return v.status(i%2, "sku-1").Action == "pass" })
		v.must(i%2, "POST", "/v1/items/sku-1/finish")
	}
	r.eventually(3*time.Second, "the silent ones are let in", func() bool { b, _ := r.books("sku-1"); return b["admitted"] == 20 })
	moved := time.Now()
	for i, v := range people[20:] {
		for v.status(i%2, "sku-1").Action != "pass" {
			running()
			if time.Since(moved) > 12*time.Second {
				t.Fatalf("visitor %d is not in 12 s after the silent were let in", i+21)
			}
			until(100 * time.Millisecond)
		}
	}
	if b, live := r.books("sku-1"); b["waiting"] != 0 || b["no_show"] != 10 || !balanced(live) {
		t.Errorf("books %v", b)
	}
}
