package app_test

import (
	"fmt"
	"testing"
	"time"
)

// B043: the store loses all while a sale gathers people. Settings and sales come back from the database: the queue gathers
// again under the same generation, those who came have their places, the sale opens on time, and what is always on is on.
func TestASaleOutlivesTheStoresData(t *testing.T) {
	t.Parallel()
	people := 20
	if full {
		people = 200
	}
	r := newRig(t, 2)
	r.must("PATCH", "/policies/always", map[string]any{"mode": "on", "inflow_per_second": 0})
	opens := time.Now().Add(7 * time.Second).Truncate(time.Millisecond)
	r.must("PUT", "/sales/drop", map[string]any{
		"name": "Drop", "item": "sku-1", "prequeue_at": time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano), "opens_at": opens.UTC().Format(time.RFC3339Nano),
		"overrides": map[string]any{"inflow_per_second": 100},
	})
	live := func() (state string, generation any) {
		item := r.must("GET", "/items/sku-1", nil)
		return fmt.Sprint(item["state"]), item["generation"]
	}
	r.everywhere(3*time.Second, "always", "queue_on")
	r.eventually(3*time.Second, "people gather", func() bool { state, _ := live(); return state == "prequeue" })
	_, generation := live()
	all := make([]*visitor, people)
	for i := range all {
		all[i] = r.visitor()
		if a := all[i].check(i%2, "sku-1"); a.Reason != "prequeue" {
			t.Fatalf("before: %s/%s", a.Action, a.Reason)
		}
	}
	if err := r.redis.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r.eventually(2*time.Second, "people gather again", func() bool { state, g := live(); return state == "prequeue" && g == generation })
	r.eventually(2*time.Second, "everybody is back", func() bool {
		for i, v := range all {
			if a := v.status(i%2, "sku-1"); time.Now().Before(opens) && a.Reason != "prequeue" {
				return false
			}
		}
		return r.must("GET", "/items/sku-1", nil)["waiting"] == float64(people)
	})
	r.everywhere(2*time.Second, "always", "queue_on")
	in := map[int]bool{}
	r.eventually(time.Until(opens)+3*time.Second, "everybody is let in", func() bool {
		for i, v := range all {
			if !in[i] && v.status(i%2, "sku-1").Action == "pass" {
				if in[i] = true; time.Now().Before(opens) {
					t.Fatalf("let in %v before the opening", time.Until(opens))
				}
			}
		}
		return len(in) == people
	})
	if _, g := live(); g != generation {
		t.Errorf("generation %v, was %v", g, generation)
	}
}
