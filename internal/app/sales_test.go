package app_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/config"
)

// Over three nodes a sale gathers, opens not a millisecond early, sets its inflow by its ramp, closes and changes the
// generation once.
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

// B026: a sale that opens at a part of a second lets nobody in before it, and the first within a second after it.
func TestASaleOpensToTheMillisecond(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	opens := time.Now().Truncate(time.Second).Add(2*time.Second + 900*time.Millisecond)
	r.must("PUT", "/sales/drop", map[string]any{
		"name": "Drop", "item": "sku-1", "prequeue_at": time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano), "opens_at": opens.UTC().Format(time.RFC3339Nano),
		"overrides": map[string]any{"inflow_per_second": 100},
	})
	r.everywhere(time.Second, "sku-1", "prequeue")
	v := r.visitor()
	v.check(0, "sku-1")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for v.status(0, "sku-1").Action != "pass" {
		if late := time.Since(opens); late > time.Second {
			t.Fatalf("nobody is in %v after the opening", late)
		}
		<-tick.C
	}
	// This machine's clock is the store's.
	if early := time.Until(opens); early > 0 {
		t.Errorf("let in %v before the opening", early)
	}
}

// listen registers a webhook, and gives what counts the messages of a type that were queued for it, by subject.
func (r *rig) listen() func(typ string) map[string]int {
	r.t.Helper()
	hook := r.must("POST", "/webhooks", map[string]any{"url": "http://127.0.0.1:9/"})
	return func(typ string) map[string]int {
		n := map[string]int{}
		for cursor := ""; ; {
			_, page := r.admin("GET", fmt.Sprintf("/webhooks/%v/deliveries?cursor=%s", hook["id"], cursor), nil)
			all, _ := page["deliveries"].([]any)
			for _, d := range all {
				if d := d.(map[string]any); d["type"] == typ {
					n[fmt.Sprint(d["subject"])]++
				}
			}
			next, _ := page["next_cursor"].(string)
			if next == "" {
				return n
			}
			cursor = next
		}
	}
}

// A node that is killed as it opens sales, as by kill -9, leaves some of them open and some not: the other opens the rest,
// and each opens once.
func TestANodeThatIsKilledAsItOpensSales(t *testing.T) {
	t.Parallel()
	rounds := 1
	if full {
		rounds = 10
	}
	r := newRig(t, 0)
	r.roles = map[int]config.Roles{0: {Admin: true}, 1: {Scheduler: true}, 2: {Scheduler: true}}
	r.start(0, nil)
	r.startProcess(2)
	told := r.listen()
	const items = 20
	for round := range rounds {
		kill := r.startProcess(1)
		opens := time.Now().Add(2 * time.Second).Truncate(time.Millisecond)
		name := func(i int) string { return fmt.Sprintf("round-%d-%d", round, i) }
		for i := range items {
			r.must("PUT", "/sales/"+name(i), map[string]any{
				"name": "Sale", "item": name(i), "prequeue_at": opens.Add(-500 * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z"),
				"opens_at": opens.UTC().Format("2006-01-02T15:04:05.000Z"),
			})
		}
		until(time.Until(opens) + time.Duration(rand.IntN(120))*time.Millisecond)
		kill()
		r.eventually(10*time.Second, "all are open", func() bool {
			for i := range items {
				if r.must("GET", "/items/"+name(i), nil)["state"] != "open" {
					return false
				}
			}
			return true
		})
		for _, step := range []string{"sale.prequeue", "sale.opened", "queue.activated"} {
			var got map[string]int
			r.eventually(10*time.Second, step+" was told", func() bool { got = told(step); return len(got) == (round+1)*items })
			for item, n := range got {
				if n != 1 {
					t.Errorf("round %d: %s of %s was told %d times", round, step, item, n)
				}
			}
		}
		for i := range items {
			if rows, _ := r.must("GET", "/activations?item="+name(i), nil)["activations"].([]any); len(rows) != 1 {
				t.Errorf("%s has %d rows of history", name(i), len(rows))
			}
		}
	}
}
