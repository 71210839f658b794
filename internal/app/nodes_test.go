package app_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// B140, B151, B154: what one node changes is in force on all within a second, and never flips back.
func TestAChangeIsInForceOnAllNodesWithinASecond(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	everywhere := func(what, action string) {
		t.Helper()
		r.eventually(time.Second, what, func() bool {
			for i := range r.nodes {
				if a := r.visitor().check(i, "sku-1"); a.Action != action {
					return false
				}
			}
			return true
		})
	}
	for i := range r.nodes {
		if a := r.visitor().check(i, "sku-1"); a.Action != "pass" || a.Reason != "queue_off" || a.Queue.Generation != 0 {
			t.Fatalf("node %d: %+v", i, a)
		}
	}
	r.policy("sku-1", map[string]any{"inflow_per_second": 0})
	r.activate("sku-1")
	everywhere("wait after activation", "wait")
	generation := r.visitor().check(1, "sku-1").Queue.Generation

	// Node 2 polls all along: once it shows the newer state, it never shows an older one.
	v := r.visitor()
	v.check(2, "sku-1")
	var states []string
	done := make(chan struct{})
	var polls sync.WaitGroup
	polls.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if a, err := v.call(2, "GET", "/v1/items/sku-1/check"); err == nil && a.Action == "wait" {
					if s := fmt.Sprint(a.Queue.Generation, a.Queue.State); len(states) == 0 || states[len(states)-1] != s {
						states = append(states, s)
					}
				}
			}
		}
	})
	r.must("POST", "/items/sku-1/reset", map[string]any{"confirm": "sku-1"})
	r.must("POST", "/items/sku-1/pause", nil)
	until(500 * time.Millisecond)
	close(done)
	polls.Wait()
	after := r.visitor().check(2, "sku-1")
	if after.Queue.State != "paused" || after.Queue.Generation <= generation {
		t.Errorf("after reset and pause: %+v, generation before %d", after.Queue, generation)
	}
	seen := map[string]bool{}
	for _, s := range states {
		if seen[s] {
			t.Errorf("a state came back: %v", states)
		}
		seen[s] = true
	}
	r.must("POST", "/items/sku-1/deactivate", map[string]any{"confirm": "sku-1"})
	everywhere("pass after deactivation", "pass")
	if a := r.visitor().check(1, "sku-1"); a.Queue.Generation != after.Queue.Generation {
		t.Errorf("generation %d after deactivation, want %d", a.Queue.Generation, after.Queue.Generation)
	}
}

// B020: a burst at two nodes turns the queue on once, and lets in no more than a trigger's worth a node.
func TestABurstTurnsTheQueueOnOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	var passed [2]atomic.Int64
	var generations sync.Map
	// A burst of 128 connections: as many as a small machine serves at once.
	together(128, func(k int) {
		for range 40 {
			a, err := r.visitor().call(k%2, "GET", "/v1/items/sku-1/check")
			if err != nil {
				t.Errorf("check: %v", err)
				return
			}
			switch {
			case a.Action == "pass" && a.Reason == "queue_off":
				passed[k%2].Add(1)
			case a.Action == "wait" && a.Reason == "queue_on", a.Reason == "admitted":
				generations.Store(a.Queue.Generation, true)
			default:
				t.Errorf("answer %s/%s", a.Action, a.Reason)
			}
		}
	})
	for i := range passed {
		if n := passed[i].Load(); n > 500 {
			t.Errorf("node %d let %d in before the queue was on, want at most 500", i, n)
		}
	}
	n := 0
	generations.Range(func(_, _ any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d generations, want 1", n)
	}
	r.eventually(3*time.Second, "one row of history", func() bool {
		list, _ := r.must("GET", "/activations?item=sku-1", nil)["activations"].([]any)
		return len(list) == 1
	})
}

// B013, B157 and their kind: one place, however often, fast and wherever a visitor asks.
func TestAReloadingVisitorHasOnePlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.policy("sku-1", map[string]any{"mode": "on", "inflow_per_second": 0})
	for range 5 {
		r.visitor().check(0, "sku-1")
	}
	v := r.visitor()
	first := v.check(0, "sku-1")
	last := first.position()
	for k := range 1000 {
		a := v.check(k%3, "sku-1")
		if a.Action != "wait" || a.position() > last || !a.Place.JoinedAt.Equal(first.Place.JoinedAt) {
			t.Fatalf("reload %d: %s, position %d after %d", k, a.Action, a.position(), last)
		}
		last = a.position()
	}
	together(60, func(k int) {
		same := *v
		for range 17 {
			if a, err := same.call(k%3, "GET", "/v1/items/sku-1/check"); err != nil || a.position() != last {
				t.Errorf("at once: position %d, want %d (%v)", a.position(), last, err)
				return
			}
		}
	})
	if live := r.must("GET", "/items/sku-1", nil); live["waiting"] != float64(6) {
		t.Errorf("waiting %v, want 6", live["waiting"])
	}
}

// B082: however many ask when the turn comes, there is one admission and one pass.
func TestTheTurnComesOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.policy("sku-1", map[string]any{"mode": "on", "inflow_per_second": 0})
	v := r.visitor()
	v.check(0, "sku-1")
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": 1})
	r.eventually(2*time.Second, "the turn comes", func() bool {
		return r.must("GET", "/items/sku-1", nil)["running"] == float64(1)
	})
	var tokens sync.Map
	together(200, func(k int) {
		same := *v
		a, err := same.call(k%3, "GET", "/v1/items/sku-1/status")
		if err != nil || a.Pass == nil {
			t.Errorf("status %d: %+v, %v", k, a, err)
			return
		}
		tokens.Store(a.Pass.Token, true)
	})
	n := 0
	var token string
	tokens.Range(func(k, _ any) bool { n++; token = k.(string); return true })
	if n != 1 {
		t.Errorf("%d different passes, want 1", n)
	}
	live := r.must("GET", "/items/sku-1", nil)
	if live["running"] != float64(1) || live["books"].(map[string]any)["admitted"] != float64(1) {
		t.Errorf("live %v", live)
	}
	together(50, func(k int) {
		other := r.visitor()
		other.check(k%3, "sku-1")
		other.passes = token
		if a := other.check(k%3, "sku-1"); a.Action == "pass" {
			t.Errorf("another visitor passed with the pass: %s", a.Reason)
		}
	})
	together(50, func(k int) { // the pass alone stands for its visitor
		alone := r.visitor()
		alone.passes = token
		if a, err := alone.call(k%3, "GET", "/v1/items/sku-1/check"); err != nil || a.Reason != "pass_valid" {
			t.Errorf("the pass alone: %s/%s, %v", a.Action, a.Reason, err)
		}
	})
	if live := r.must("GET", "/items/sku-1", nil); live["running"] != float64(1) {
		t.Errorf("running %v, want 1", live["running"])
	}
}

// Invariant isolated: an item whose key is of a wrong type delays no other.
func TestABrokenItemDelaysNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for _, item := range []string{"bad", "good"} {
		r.policy(item, map[string]any{"mode": "on", "inflow_per_second": 20})
		r.visitor().check(0, item)
	}
	ctx := t.Context()
	if err := r.redis.Client().Del(ctx, r.prefix+"{bad}:waiting").Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.redis.Client().Set(ctx, r.prefix+"{bad}:waiting", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	v := r.visitor()
	v.check(0, "good")
	r.eventually(2*time.Second, "the good item lets in", func() bool { return v.status(0, "good").Action == "pass" })
	if a, err := r.visitor().call(0, "GET", "/v1/items/bad/check"); err != nil || a.Status >= 500 {
		t.Errorf("the broken item: %d, %v", a.Status, err)
	}
}

// Invariant heals: an item with a damaged key is whole again by itself, with everybody in place, and operators master it.
func TestABrokenItemMendsItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	client, ctx := r.redis.Client(), t.Context()
	keys := []string{"waiting", "running", "finished", "queue", "heard", "admissions", "ended", "ended_old", "traffic", "newcomers", "active", "once"}
	r.must("PATCH", "/policies/*", map[string]any{"inflow_per_second": 0, "session_seconds": 3600})
	people := map[string][]*visitor{}
	generation := map[string]int64{}
	for _, key := range keys {
		r.activate(key)
		for k := range 4 {
			v := r.visitor()
			generation[key] = v.check(k%2, key).Queue.Generation
			people[key] = append(people[key], v)
		}
		r.must("POST", "/items/"+key+"/admit", map[string]any{"count": 1})
	}
	for _, key := range keys {
		r.eventually(5*time.Second, "one is in", func() bool { return people[key][0].status(0, key).Action == "pass" })
	}
	for _, key := range keys {
		name := r.prefix + "{" + key + "}:" + key
		if err := client.Del(ctx, name).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.RPush(ctx, name, "x").Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range keys {
		for n, v := range people[key] {
			want, position := "wait", int64(n)
			if n == 0 {
				want, position = "pass", 0
			}
			var a answer
			r.eventually(10*time.Second, fmt.Sprintf("{%s} has number %d back", key, n), func() bool {
				a = v.check(n%2, key)
				return a.Action == want && a.Reason != "store_down" && a.position() == position && a.Queue.Generation == generation[key]
			})
		}
		if status, _ := r.admin("GET", "/items/"+key, nil); status != 200 {
			t.Errorf("{%s}: live view %d", key, status)
		}
	}
	// And at once by an operator's order.
	for _, key := range keys {
		name := r.prefix + "{" + key + "}:" + key
		if err := client.Del(ctx, name).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.Set(ctx, name, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if status, body := r.admin("POST", "/items/"+key+"/deactivate", map[string]any{"confirm": key}); status != 200 {
			t.Errorf("{%s}: deactivate %d %v", key, status, body)
		}
		v := people[key][3]
		r.eventually(3*time.Second, "everybody passes", func() bool { return v.check(0, key).Reason == "queue_off" && v.check(1, key).Reason == "queue_off" })
	}
}
