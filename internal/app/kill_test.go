package app_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// fill lines up n more people of whom nobody asks, and gives them.
func (r *rig) fill(item queue.Item, n int) []queue.Visitor {
	r.t.Helper()
	line := redisline.New(redisline.Options{Client: r.redis.Client(), Prefix: r.prefix})
	var all []queue.Visitor
	for n > 0 {
		asks := make([]queue.Ask, min(n, 200))
		for i := range asks {
			asks[i] = queue.Ask{Visitor: queue.NewVisitor(), Create: true}
			all = append(all, asks[i].Visitor)
		}
		if _, err := line.Ask(r.t.Context(), item, asks); err != nil {
			r.t.Fatal(err)
		}
		n -= len(asks)
	}
	return all
}

// books are an item's counters, with what the sets hold.
func (r *rig) books(item string) (books map[string]float64, live map[string]any) {
	r.t.Helper()
	live = r.must("GET", "/items/"+item, nil)
	books = map[string]float64{"waiting": live["waiting"].(float64), "running": live["running"].(float64)}
	for k, v := range live["books"].(map[string]any) {
		if n, ok := v.(float64); ok {
			books[k] = n
		}
	}
	return books, live
}

// B128: the node that moves a line dies again and again, as by kill -9, and nobody is lost, in two sets, or let in twice.
func TestMovingNodesThatAreKilledLoseNobody(t *testing.T) {
	t.Parallel()
	people, kills := 20_000, 3
	if full {
		people, kills = 200_000, 20
	}
	r := newRig(t, 0)
	// The node that answers the operator moves no lines, so that the one which is killed moves this one.
	r.roles = map[int]config.Roles{0: {Admin: true}, 1: {Scheduler: true}, 2: {Gate: true}}
	r.start(0, nil)
	r.start(2, nil)
	r.must("PATCH", "/policies/sku-1", map[string]any{
		"inflow_per_second": 10_000, "abandon_seconds": 86400, "claim_seconds": 3600, "session_seconds": 86400,
	})
	r.activate("sku-1")
	r.must("POST", "/items/sku-1/pause", nil)
	sample := make([]*visitor, 50)
	for i := range sample {
		sample[i] = r.visitor()
		if a := sample[i].check(2, "sku-1"); a.position() != int64(i+1) {
			t.Fatalf("visitor %d: %+v", i, a)
		}
	}
	r.fill("sku-1", people-len(sample))
	r.must("POST", "/items/sku-1/resume", nil)
	client := r.redis.Client()
	admitted := map[string]string{} // visitor -> when
	for k := range kills {
		kill := r.startProcess(1)
		before, _ := r.books("sku-1")
		until(time.Duration(100+rand.IntN(500)) * time.Millisecond)
		kill()
		books, live := r.books("sku-1")
		if sum := books["waiting"] + books["running"] + books["finished"] + books["left"] + books["abandoned"] + books["no_show"]; sum != float64(people) || books["joined"] != float64(people) || !balanced(live) {
			t.Fatalf("after kill %d: %v people of %d: %v", k+1, sum, people, books)
		}
		waiting, err := client.ZRange(t.Context(), r.prefix+"{sku-1}:waiting", 0, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		stays, err := client.HGetAll(t.Context(), r.prefix+"{sku-1}:admissions").Result()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(waiting) + len(stays); n != people {
			t.Fatalf("after kill %d: %d people in the sets", k+1, n)
		}
		for _, v := range waiting {
			if _, inside := stays[v]; inside {
				t.Fatalf("after kill %d: %s waits and is inside", k+1, v)
			}
		}
		for v, when := range admitted {
			if when != at(stays[v]) {
				t.Fatalf("after kill %d: %s was let in at %q, and again at %q", k+1, v, when, at(stays[v]))
			}
		}
		admitted = maps.Collect(func(yield func(string, string) bool) {
			for v, stay := range stays {
				if !yield(v, at(stay)) {
					return
				}
			}
		})
		t.Logf("kill %d: %v let in before it, %v after", k+1, before["admitted"], books["admitted"])
	}
	r.startProcess(1)
	r.eventually(60*time.Second, "all are let in", func() bool { b, _ := r.books("sku-1"); return b["running"] == float64(people) })
	if b, live := r.books("sku-1"); b["admitted"] != float64(people) || !balanced(live) {
		t.Errorf("at the end: %v", b)
	}
	for i, v := range sample {
		if a := v.status(2, "sku-1"); a.Action != "pass" {
			t.Errorf("visitor %d of the sample: %d %s/%s", i, a.Status, a.Action, a.Reason)
		}
	}
}

// at is when a stay began: the second word of "kind admitted …".
func at(stay string) string {
	var kind, when string
	_, _ = fmt.Sscan(stay, &kind, &when)
	return when
}

// B137: a node without a store that is killed comes back with the order of the tickets, with valid passes, and with no
// generation used twice.
func TestANodeWithoutAStoreThatIsKilled(t *testing.T) {
	t.Parallel()
	waiting, inside := 100, 10
	if full {
		waiting, inside = 1000, 50
	}
	r := newRig(t, 0)
	r.redis = nil
	kill := r.startProcess(0)
	r.activate("sku-1")
	r.must("POST", "/items/sku-1/inflow", map[string]any{"inflow_per_second": 0})
	people := make([]*visitor, waiting+inside)
	for i := range people {
		people[i] = r.visitor()
		people[i].check(0, "sku-1")
	}
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": inside})
	r.eventually(3*time.Second, "some are let in", func() bool { return people[inside-1].status(0, "sku-1").Action == "pass" })
	for _, v := range people[:inside] {
		v.status(0, "sku-1")
	}
	before := r.must("GET", "/items/sku-1", nil)
	until(1200 * time.Millisecond) // the queues' file is written each second
	kill()
	r.startProcess(0)
	after := r.must("GET", "/items/sku-1", nil)
	if after["state"] != "open" || after["generation"] != before["generation"] {
		t.Errorf("state %v and generation %v, before %v", after["state"], after["generation"], before["generation"])
	}
	for i := len(people) - 1; i >= inside; i-- {
		if a := people[i].status(0, "sku-1"); a.Action != "wait" {
			t.Fatalf("visitor %d after the restart: %d %s/%s", i, a.Status, a.Action, a.Reason)
		}
	}
	for i, v := range people[inside:] {
		if a := v.status(0, "sku-1"); a.position() != int64(i+1) {
			t.Errorf("visitor %d stands at %d, want %d as before", i+inside, a.position(), i+1)
		}
	}
	for i, v := range people[:inside] {
		if a := v.check(0, "sku-1"); a.Reason != "pass_valid" {
			t.Errorf("the pass of visitor %d: %s/%s", i, a.Action, a.Reason)
		}
	}
	r.must("POST", "/items/sku-1/reset", map[string]any{"confirm": "sku-1"})
	if again := r.must("GET", "/items/sku-1", nil); again["generation"].(float64) <= before["generation"].(float64) {
		t.Errorf("generation %v was used before", again["generation"])
	}
}
