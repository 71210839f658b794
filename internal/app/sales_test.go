package app_test

import (
	"fmt"
	"testing"
	"time"
)

// B026, B044: over three nodes a sale gathers, opens not a millisecond early, sets its inflow by its ramp, closes and
// changes the generation once.
func TestASaleOverThreeNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	opens := time.Now().Add(3 * time.Second).Truncate(time.Millisecond)
	at := func(d time.Duration) string { return opens.Add(d).UTC().Format("2006-01-02T15:04:05.000Z") }
	r.must("POST", "/sales", map[string]any{
		"name": "Friday", "item": "sku-1", "prequeue_at": at(-2 * time.Second), "opens_at": at(0), "closes_at": at(4 * time.Second),
		"overrides": map[string]any{"inflow_per_second": 1, "session_seconds": 30},
		"ramp":      []any{map[string]any{"after_seconds": 0, "inflow_per_second": 2}, map[string]any{"after_seconds": 2, "inflow_per_second": 20}},
	})
	state := func() string { return fmt.Sprint(r.must("GET", "/items/sku-1", nil)["state"]) }
	r.eventually(10*time.Second, "people gather", func() bool { return state() == "prequeue" })
	generation := r.must("GET", "/items/sku-1", nil)["generation"]
	people := make([]*visitor, 12)
	for i := range people {
		people[i] = r.visitor()
		if a := people[i].check(i%3, "sku-1"); a.Reason != "prequeue" {
			t.Fatalf("before: %s/%s", a.Action, a.Reason)
		}
	}
	var first time.Time
	r.eventually(10*time.Second, "somebody is let in", func() bool {
		a := people[0].status(0, "sku-1")
		first = time.Now()
		return a.Reason == "admitted"
	})
	if first.Before(opens) {
		t.Errorf("let in %v before the opening", opens.Sub(first))
	}
	r.eventually(10*time.Second, "the ramp goes up", func() bool {
		inflow, _ := r.must("GET", "/items/sku-1", nil)["inflow"].(map[string]any)
		return inflow["set_per_second"] == 20.0
	})
	r.eventually(10*time.Second, "it closes", func() bool { return state() == "closed" })
	item := r.must("GET", "/items/sku-1", nil)
	if item["generation"] != generation || item["cause"] != "sale" {
		t.Errorf("generation %v, was %v; cause %v", item["generation"], generation, item["cause"])
	}
	history, _ := r.must("GET", "/activations?item=sku-1", nil)["activations"].([]any)
	if len(history) != 1 {
		t.Errorf("%d rows of history: %v", len(history), history)
	}
	if a := r.visitor().check(1, "sku-1"); a.Reason != "closed" {
		t.Errorf("after: %s/%s", a.Action, a.Reason)
	}
}
