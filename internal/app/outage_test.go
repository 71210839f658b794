package app_test

import (
	"testing"
	"time"
)

// The failure table's first row: while the store is away, passes hold, items known to be off stay off, and the policy
// decides the rest; afterwards everybody stands where they stood. Time without the store is nobody's.
func TestWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.policy("opens", map[string]any{"mode": "on", "inflow_per_second": 0})
	r.policy("closes", map[string]any{"mode": "on", "inflow_per_second": 0, "on_store_failure": "closed"})
	inside, waiting := r.visitor(), r.visitor()
	inside.check(0, "closes")
	r.must("POST", "/items/closes/admit", map[string]any{"count": 1})
	r.eventually(3*time.Second, "one is let in", func() bool { return inside.status(0, "closes").Action == "pass" })
	if a := waiting.check(1, "closes"); a.position() != 1 {
		t.Fatalf("position %d", a.position())
	}
	r.visitor().check(0, "opens")
	r.visitor().check(0, "quiet")

	r.redis.Pause()
	paused := time.Now()
	r.eventually(2*time.Second, "the node knows that the store is away", func() bool {
		began := time.Now()
		a := r.visitor().check(0, "opens")
		return a.Reason == "store_down" && time.Since(began) < 100*time.Millisecond
	})
	until(2500 * time.Millisecond) // and until every call that was out has failed: what was known is known still
	if d := time.Since(paused) - 2500*time.Millisecond; d > 1500*time.Millisecond {
		t.Errorf("answers were quick only %v after the fault", d)
	}
	for _, c := range []struct {
		name, action, reason string
		ask                  func() answer
	}{
		{"a pass holds", "pass", "pass_valid", func() answer { return inside.check(1, "closes") }},
		{"an item known to be off stays off", "pass", "queue_off", func() answer { return r.visitor().check(0, "quiet") }},
		{"also one that nobody asked for before", "pass", "queue_off", func() answer { return r.visitor().check(1, "quieter") }},
		{"open lets a stranger in", "pass", "store_down", func() answer { return r.visitor().check(1, "opens") }},
		{"closed lets a stranger wait", "wait", "store_down", func() answer { return r.visitor().check(1, "closes") }},
		{"closed keeps the place of one in line", "wait", "store_down", func() answer { return waiting.status(0, "closes") }},
	} {
		if a := c.ask(); a.Action != c.action || a.Reason != c.reason {
			t.Errorf("%s: %s/%s, want %s/%s", c.name, a.Action, a.Reason, c.action, c.reason)
		}
	}
	r.redis.Resume()
	r.eventually(3*time.Second, "the store is used again", func() bool { return r.visitor().check(0, "opens").Reason == "queue_on" })
	if a := waiting.status(0, "closes"); a.position() != 1 {
		t.Errorf("position %d after the outage, want 1 as before", a.position())
	}
	if a := inside.check(0, "closes"); a.Reason != "pass_valid" {
		t.Errorf("after the outage: %s/%s", a.Action, a.Reason)
	}
}

// A node that starts while the store is away knows the settings and queues it last saw.
func TestANodeStartsWithoutTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.policy("closes", map[string]any{"mode": "on", "inflow_per_second": 0, "on_store_failure": "closed"})
	v := r.visitor()
	v.check(1, "closes")
	r.eventually(3*time.Second, "node 1 has kept what it knows", func() bool {
		return r.visitor().check(1, "closes").Action == "wait"
	})
	until(1200 * time.Millisecond) // the queues' file is written each second
	r.nodes[1].stop()
	r.redis.Pause()
	defer r.redis.Resume()
	n := r.startUnready(1)
	defer n.stop()
	r.eventually(3*time.Second, "node 1 answers from what it knows", func() bool {
		a, err := r.visitor().call(1, "GET", "/v1/items/closes/check")
		return err == nil && a.Action == "wait" && a.Reason == "store_down"
	})
}
