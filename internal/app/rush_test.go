package app_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// B109: a whole crowd comes around the second of an opening. Everybody gets an answer: before it the one that belongs there,
// after it a place in order of arrival, and the first are let in within a second.
func TestACrowdAtTheSecondOfTheOpening(t *testing.T) {
	t.Parallel()
	crowd := 400
	if full {
		crowd = 20_000
	}
	for _, gathers := range []bool{false, true} {
		t.Run(fmt.Sprintf("gathers %v", gathers), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			opens := time.Now().Add(4 * time.Second).Truncate(time.Millisecond)
			plan := map[string]any{"name": "Drop", "item": "sku-1", "opens_at": opens.UTC().Format(time.RFC3339Nano), "overrides": map[string]any{"inflow_per_second": 5}}
			before := "queue_off"
			if gathers {
				plan["prequeue_at"], before = opens.Add(-3*time.Second).UTC().Format(time.RFC3339Nano), "prequeue"
			}
			r.must("PUT", "/sales/drop", plan)
			until(time.Until(opens.Add(-400 * time.Millisecond)))
			r.everywhere(time.Second, "sku-1", before)

			people, first, asked := make([]*visitor, crowd), make([]answer, crowd), make([][2]time.Time, crowd)
			together(crowd, func(i int) {
				until(time.Until(opens.Add(-300*time.Millisecond + rand.N(time.Second))))
				people[i], asked[i][0] = r.visitor(), time.Now()
				var err error
				if first[i], err = people[i].call(i%2, "GET", "/v1/items/sku-1/check"); err != nil {
					t.Error(err)
				}
				asked[i][1] = time.Now()
			})
			early := map[int]bool{}
			for i, a := range first {
				late := !asked[i][0].Before(opens)
				switch known := []string{before, "queue_on", "admitted"}; {
				case a.Status != 200 || !slices.Contains(known, a.Reason):
					t.Fatalf("asked %v after the opening: %d %s/%s", asked[i][0].Sub(opens), a.Status, a.Action, a.Reason)
				case late && a.Reason == "queue_off", a.Reason == "prequeue" && asked[i][0].After(opens.Add(500*time.Millisecond)): // a line opens at its mover's next step
					t.Errorf("asked %v after the opening, and told %s", asked[i][0].Sub(opens), a.Reason)
				case asked[i][1].Before(opens) && a.Reason != before:
					t.Errorf("told %s %v before the opening", a.Reason, opens.Sub(asked[i][1]))
				}
				early[i] = a.Reason == before
			}
			// All ask on, as their pages do; who was let by before the opening comes back as anybody does.
			last := make([]answer, crowd)
			together(crowd, func(i int) {
				ask := "status"
				if early[i] && !gathers {
					ask = "check"
				}
				var err error
				if last[i], err = people[i].call(i%2, "GET", "/v1/items/sku-1/"+ask); err != nil || last[i].Status != 200 {
					t.Errorf("asking on: %d %s %v", last[i].Status, last[i].Code, err)
				}
			})
			var line []answer
			for _, a := range last {
				if a.Place != nil && a.Place.Position != nil && a.Place.Exact {
					line = append(line, a)
				}
			}
			slices.SortFunc(line, func(a, b answer) int { return a.Place.JoinedAt.Compare(b.Place.JoinedAt) })
			// Asked one after the other while the line moves: who came later never stands before by more than it has moved.
			moved := int64(5*time.Since(opens).Seconds()) + 2
			for i := 1; i < len(line); i++ {
				a, b := line[i-1], line[i]
				if b.Place.JoinedAt.Sub(a.Place.JoinedAt) > time.Millisecond && b.position() < a.position()-moved {
					t.Errorf("who came at %v stands at %d, who came at %v at %d", a.Place.JoinedAt, a.position(), b.Place.JoinedAt, b.position())
				}
			}
			if len(line) == 0 {
				t.Error("nobody waits")
			}
			r.eventually(max(0, time.Until(opens.Add(time.Second)))+250*time.Millisecond, "somebody is let in", func() bool {
				books, _ := r.books("sku-1")
				return books["admitted"] > 0
			})
			item := r.must("GET", "/items/sku-1", nil)
			if item["state"] != "open" {
				t.Errorf("the queue is %v", item["state"])
			}
		})
	}
}
