package app_test

import (
	"context"
	"regexp"
	"sync"
	"testing"
	"time"
)

var blocked = regexp.MustCompile(`(?m)^id=(\d+) .* cmd=xread `)

// cutStream ends every connection on which a node waits for changes, again and again until stop. All else goes on.
func (r *rig) cutStream() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	var loop sync.WaitGroup
	loop.Go(func() {
		for ctx.Err() == nil {
			list, err := r.redis.Client().ClientList(ctx).Result()
			if err != nil {
				return
			}
			for _, m := range blocked.FindAllStringSubmatch(list, -1) {
				_ = r.redis.Client().ClientKillByFilter(ctx, "ID", m[1]).Err()
			}
			until(20 * time.Millisecond)
		}
	})
	return func() { cancel(); loop.Wait() }
}

// B140: what one node's traffic turns on is on at the others, and off again once it is released, also for nodes that the
// stream of changes no longer reaches.
func TestNodesWithoutTheStreamOfChangesFollowAllTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.policy("*", map[string]any{"trigger_requests": 50, "trigger_window_seconds": 2, "release_after_seconds": 1, "inflow_per_second": 1000})
	for i := range r.nodes {
		r.visitor().check(i, "sku-1") // knows it to be off
	}
	rounds := 1
	if full {
		rounds = 5
	}
	for _, c := range []struct {
		name string
		cut  bool
		most time.Duration
	}{{"with the stream", false, time.Second}, {"without", true, 2 * time.Second}} {
		stop := func() {}
		if c.cut {
			stop = r.cutStream()
			until(500 * time.Millisecond)
		}
		for range rounds {
			was := r.visitor().check(0, "sku-1").Queue.Generation
			r.checks(0, "sku-1", 60)
			var generation int64
			r.eventually(time.Second, c.name+": node 0 has turned it on", func() bool {
				a := r.visitor().check(0, "sku-1")
				generation = a.Queue.Generation
				return a.Queue.State == "open" && generation > was
			})
			r.eventually(c.most, c.name+": on at all nodes, in one generation", func() bool {
				for i := range r.nodes {
					if q := r.visitor().check(i, "sku-1").Queue; q.State != "open" || q.Generation != generation {
						return false
					}
				}
				return true
			})
			r.must("PATCH", "/policies/*", map[string]any{"inflow_per_second": 1000 + len(c.name)})
			r.eventually(10*time.Second, c.name+": released", func() bool { return r.must("GET", "/items/sku-1", nil)["state"] == "off" })
			r.eventually(c.most, c.name+": off at all nodes", func() bool {
				for i := range r.nodes {
					if a := r.visitor().status(i, "sku-1"); a.Reason != "queue_off" { // a check is traffic, which turns it on
						return false
					}
				}
				return true
			})
			until(2500 * time.Millisecond) // the window runs empty
		}
		stop()
	}
}
