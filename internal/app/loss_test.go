package app_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// person polls as told until let in, and reports when.
func (r *rig) person(ctx context.Context, k int, item string, admitted func(*visitor)) {
	v := r.visitor()
	a, err := v.call(k%len(r.nodes), "GET", "/v1/items/"+item+"/check")
	for {
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil:
			a = answer{}
		case a.Action == "pass":
			admitted(v)
			return
		case a.Action != "wait":
			r.t.Errorf("person %d: %d %s/%s %s", k, a.Status, a.Action, a.Reason, a.Code)
			return
		}
		wait := time.Second
		if a.Place != nil {
			wait = time.Duration(a.Place.PollMS) * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		k++ // another node each time
		a, err = v.call(k%len(r.nodes), "GET", "/v1/items/"+item+"/status")
	}
}

// Invariant heals: after a total loss of the store the queue is on with the inflow as set, nobody is admitted before
// somebody with an older ticket who polls as told, and passes hold.
func TestALineSurvivesTheLossOfTheStore(t *testing.T) {
	t.Parallel()
	const inflow = 50
	people := 500
	if full {
		people = 2000
	}
	r := newRig(t, 3)
	// Closed: a store that is late on a busy machine keeps people waiting in place of letting them by.
	r.policy("sku-1", map[string]any{"on_store_failure": "closed"})
	r.activate("sku-1")
	r.must("POST", "/items/sku-1/inflow", map[string]any{"inflow_per_second": inflow})

	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(people/inflow+45)*time.Second)
	defer cancel()
	var in atomic.Int64
	var early sync.Map
	var crowd sync.WaitGroup
	for k := range people {
		crowd.Go(func() {
			r.person(ctx, k, "sku-1", func(v *visitor) {
				if in.Add(1) <= 20 {
					early.Store(k, v)
				}
			})
		})
	}
	joined := func() float64 {
		n, _ := r.must("GET", "/items/sku-1", nil)["books"].(map[string]any)["joined"].(float64)
		return n
	}
	r.eventually(15*time.Second, "all have come", func() bool { return joined() == float64(people) })
	client := r.redis.Client()
	order, err := client.ZRange(ctx, r.prefix+"{sku-1}:waiting", 0, -1).Result()
	if err != nil || len(order) < people/3 {
		t.Fatalf("%d in line, %v", len(order), err)
	}
	before := r.must("GET", "/items/sku-1", nil)
	if err := client.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	lost := time.Now()
	r.eventually(3*time.Second, "the queue is on again", func() bool { return r.must("GET", "/items/sku-1", nil)["state"] == "open" })
	after := r.must("GET", "/items/sku-1", nil)
	if after["generation"] != before["generation"] {
		t.Errorf("generation %v, before %v", after["generation"], before["generation"])
	}
	if set := after["inflow"].(map[string]any)["set_per_second"]; set != float64(inflow) {
		t.Errorf("inflow %v, want %d", set, inflow)
	}
	// Newcomers who come after the loss stand behind.
	newcomer := r.visitor()
	newcomer.check(1, "sku-1")
	crowd.Wait()
	t.Logf("all in %v after the loss", time.Since(lost).Round(time.Millisecond))
	if n := in.Load(); n != int64(people) {
		t.Fatalf("%d of %d were let in", n, people)
	}
	stays, err := client.HGetAll(ctx, r.prefix+"{sku-1}:admissions").Result()
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	checked := 0
	for _, id := range order {
		parts := strings.Fields(stays[id])
		if len(parts) != 6 || parts[0] != "a" {
			continue // let in before the loss
		}
		at, _ := strconv.ParseInt(parts[1], 10, 64)
		if at < last {
			t.Fatalf("somebody was admitted %d ms before one with an older ticket", last-at)
		}
		last = at
		checked++
	}
	if checked < len(order)/2 {
		t.Errorf("only %d admissions after the loss found", checked)
	}
	early.Range(func(_, v any) bool {
		if a := v.(*visitor).check(2, "sku-1"); a.Reason != "pass_valid" {
			t.Errorf("a pass from before the loss: %s/%s", a.Action, a.Reason)
			return false
		}
		return true
	})
	books := r.must("GET", "/items/sku-1", nil)
	text, _ := json.Marshal(books)
	if !balanced(books) {
		t.Errorf("the books do not balance: %s", text)
	}
}

// balanced is invariant books-balance over what the admin API shows.
func balanced(live map[string]any) bool {
	b, _ := live["books"].(map[string]any)
	n := func(of map[string]any, name string) float64 { v, _ := of[name].(float64); return v }
	return n(b, "joined")+n(b, "returned") == n(live, "waiting")+n(b, "admitted")+n(b, "abandoned")+n(b, "left") &&
		n(b, "admitted")+n(b, "carried") == n(live, "running")+n(b, "finished")+n(b, "no_show")+n(b, "revoked")
}
