package app_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// B107: those who came before a draw opens, also in the very moment, are drawn; all nodes agree, no reload draws again,
// and whoever comes later stands behind in order.
func TestADraw(t *testing.T) {
	t.Parallel()
	early, rushing, late := 300, 50, 30
	if full {
		early, late = 2000, 200
	}
	r := newRig(t, 2)
	r.must("PATCH", "/policies/sku-1", map[string]any{"inflow_per_second": 0, "order": "random", "abandon_seconds": 3600})
	until(200 * time.Millisecond)
	line := redisline.New(redisline.Options{Client: r.redis.Client(), Prefix: r.prefix})
	policy := queue.DefaultPolicy()
	policy.Order, policy.InflowPerSecond, policy.AbandonSeconds = queue.Random, 0, 3600
	limits := policy.Limits(time.Now().UnixMilli())
	order := func(a queue.Action) {
		t.Helper()
		report, err := line.Switch(t.Context(), "sku-1", queue.SwitchOrder{
			Action: a, Limits: limits, Cause: queue.ByOperator, By: "friday", OpensMS: time.Now().Add(time.Minute).UnixMilli(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := redisline.NewChanges(r.redis.Client(), r.prefix).Announce(t.Context(), report.Header); err != nil {
			t.Fatal(err)
		}
	}
	order(queue.Gather)
	r.eventually(2*time.Second, "both nodes gather", func() bool {
		return r.must("GET", "/items/sku-1", nil)["state"] == "prequeue" && r.visitor().status(1, "sku-1").Queue.State != "off"
	})
	people := make([]*visitor, early)
	for i := range people {
		people[i] = r.visitor()
		if a := people[i].check(i%2, "sku-1"); a.Reason != "prequeue" || a.Place.Position != nil {
			t.Fatalf("before: %s/%s at %d", a.Action, a.Reason, a.position())
		}
		for k := range 2 { // reloads
			people[i].check((i+k)%2, "sku-1")
		}
	}
	rush := make([]*visitor, rushing)
	together(rushing+1, func(k int) {
		if k == rushing {
			order(queue.Activate)
			return
		}
		rush[k] = r.visitor()
		if _, err := rush[k].call(k%2, "GET", "/v1/items/sku-1/check"); err != nil {
			t.Error(err)
		}
	})
	r.eventually(2*time.Second, "both nodes are open", func() bool {
		return people[0].status(0, "sku-1").position() > 0 && people[1].status(1, "sku-1").position() > 0
	})
	all := append(people, rush...)
	for range late {
		v := r.visitor()
		v.check(0, "sku-1")
		all = append(all, v)
	}
	look, err := line.Look(t.Context(), "sku-1")
	if err != nil {
		t.Fatal(err)
	}
	if n := look.Counts; n.Waiting != int64(len(all)) || n.Joined != int64(len(all)) {
		t.Errorf("%d wait, %d joined, want one lot for each of %d", n.Waiting, n.Joined, len(all))
	}
	seen := map[int64]bool{}
	var x, y, xx, yy, xy float64 // of arrival and place
	for i, v := range all {
		standing, err := line.Find(t.Context(), "sku-1", v.id())
		if err != nil {
			t.Fatal(err)
		}
		seen[standing.Position] = true
		for k := range r.nodes {
			if a := v.status(k, "sku-1"); a.Place == nil || a.Place.Exact && a.position() != standing.Position {
				t.Fatalf("visitor %d at node %d: %d, stands at %d", i, k, a.position(), standing.Position)
			}
		}
		if i < early {
			a, b := float64(i), float64(standing.Position)
			x, y, xx, yy, xy = x+a, y+b, xx+a*a, yy+b*b, xy+a*b
		}
		if i >= early+rushing && standing.Position != int64(i+1) {
			t.Errorf("late visitor %d stands at %d", i, standing.Position)
		}
	}
	if len(seen) != len(all) || seen[0] {
		t.Errorf("%d places for %d people", len(seen), len(all))
	}
	n := float64(early)
	most := 0.08
	if !full {
		most = 0.25 // 4 standard deviations of a draw among 300
	}
	if corr := (n*xy - x*y) / math.Sqrt((n*xx-x*x)*(n*yy-y*y)); math.Abs(corr) > most {
		t.Errorf("rank correlation with arrival %.3f", corr)
	}
}
