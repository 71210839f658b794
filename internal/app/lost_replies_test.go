package app_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/redisurl"
	"github.com/sluicehq/sluice/queue/redisline"
)

// tooLate is longer than a node waits for an answer of the store.
const tooLate = 2 * redisurl.Timeout

// B031: what the store has done and a node has not heard of is done once, and an answer that comes late is nobody else's.
func TestWhatIsDoneUnheardIsDoneOnce(t *testing.T) {
	t.Parallel()
	r, door := newRigBehind(t, 1)
	r.policy("sku-1", map[string]any{"mode": "on", "inflow_per_second": 0})
	people := make([]*visitor, 20)
	for i := range people {
		people[i] = r.visitor()
	}
	r.eventually(3*time.Second, "all stand in line", func() bool {
		for _, v := range people {
			if v.check(0, "sku-1").position() == 0 {
				return false
			}
		}
		return true
	})
	newcomer := r.visitor()
	late := func(script string, do func()) {
		var held atomic.Int64
		door.Rule(func(command []string) redistest.Fate {
			if len(command) > 1 && redisline.Scripts()[command[1]] == script {
				held.Add(1)
				return redistest.Fate{Hold: tooLate}
			}
			return redistest.Fate{}
		})
		do()
		door.Rule(nil)
		if held.Load() == 0 {
			t.Errorf("no answer of %s was late", script)
		}
		r.eventually(5*time.Second, "the store is used again", func() bool { return r.storeIs(0, "up") })
	}
	late("switch", func() { r.admin("POST", "/items/sku-1/admit", map[string]any{"count": 10}) })
	late("join", func() { newcomer.check(0, "sku-1") })
	r.eventually(5*time.Second, "ten are in", func() bool { return r.must("GET", "/items/sku-1", nil)["running"] == 10.0 })
	if a := newcomer.check(0, "sku-1"); a.position() != 11 {
		t.Errorf("the newcomer stands at %d, want 11", a.position())
	}
	answers := make([]answer, 100)
	together(10, func(i int) {
		for k := range 10 {
			v := r.visitor()
			if a := v.check(0, fmt.Sprint("other-", i)); a.Status != http.StatusOK {
				t.Errorf("%+v", a)
			}
			answers[i*10+k] = v.check(0, "sku-1")
		}
	})
	seen := map[string]bool{}
	for _, a := range answers {
		if a.Action != "wait" || a.Place == nil || a.Visitor == "" || seen[a.Visitor] || seen[a.Place.Ticket] {
			t.Fatalf("not one's own: %+v", a)
		}
		seen[a.Visitor], seen[a.Place.Ticket] = true, true
	}
	if live := r.must("GET", "/items/sku-1", nil); live["running"] != 10.0 || live["waiting"] != 111.0 {
		t.Errorf("inside %v, in line %v; want 10, 111", live["running"], live["waiting"])
	}
}

// B032: a flush whose answer is lost is sent again, and counts once.
func TestTrafficIsCountedOnceWhateverAnswersAreLost(t *testing.T) {
	t.Parallel()
	r, door := newRigBehind(t, 1)
	const most = 400
	r.policy("sku-1", map[string]any{"trigger_requests": 500, "trigger_window_seconds": 600})
	var calls atomic.Int64
	door.Rule(func(command []string) redistest.Fate {
		if command[0] == "EVALSHA" && calls.Add(1)%10 == 0 {
			return redistest.Fate{Hold: tooLate}
		}
		return redistest.Fate{}
	})
	for range most {
		if a := r.visitor().check(0, "sku-1"); a.Status != http.StatusOK || a.Action != "pass" {
			t.Fatalf("%+v", a)
		}
		until(10 * time.Millisecond)
	}
	door.Rule(nil)
	r.eventually(10*time.Second, "all are counted", func() bool {
		n, _ := r.must("GET", "/items/sku-1", nil)["traffic"].(map[string]any)
		requests, _ := n["requests"].(float64)
		if requests > most {
			t.Fatalf("%v of %d are counted", requests, most)
		}
		return requests >= most-1
	})
	if a := r.visitor().check(0, "sku-1"); a.Reason != "queue_off" {
		t.Errorf("%s/%s", a.Action, a.Reason)
	}
}
