package chaos_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/fleet"
)

// TestSoak lets people come and go for ten minutes while small faults happen at random: what the nodes hold stays as it is, and
// the books balance. Runs in full alone.
func TestSoak(t *testing.T) {
	if !*full {
		t.Skip("SKIPPED: takes eleven minutes. Run by: make chaos")
	}
	const lasts, arrivals = 10 * time.Minute, 18
	f := fault{name: "soak", nodes: 3, store: one()}
	w := build(t, f)
	c := w.crowd
	w.must(w.Policy(w.ctx, lined, map[string]any{"session_seconds": 30, "claim_seconds": 10, "abandon_seconds": 30, "return_seconds": 30}))
	w.must(w.Act(w.ctx, lined, "resume", nil))
	playing, stop := context.WithTimeout(w.ctx, lasts)
	defer stop()
	c.wg.Go(func() {
		for sleep(playing, time.Second/arrivals) {
			c.wg.Go(func() { c.visit(playing) })
		}
	})
	played := make(chan struct{})
	go func() { c.play(playing); close(played) }()

	sleep(w.ctx, 2*time.Minute)
	before := w.held()
	for n := 0; playing.Err() == nil; n++ {
		w.annoy(n)
		sleep(playing, 5*time.Second)
	}
	<-played
	for _, s := range c.seen {
		if s.Fives+s.Broken > 0 || len(s.Wrong) > 0 {
			t.Errorf("%+v", *s)
		}
	}
	sleep(w.ctx, 40*time.Second) // sessions end
	after := w.held()
	t.Logf("after two minutes %v, at the end %v", before, after)
	for name, was := range before {
		if is := after[name]; is > was*1.1+5 { // fewer is fine: nobody asks any more
			t.Errorf("%s: %.0f after two minutes, %.0f at the end", name, was, is)
		}
	}
	w.balanced()
}

// visit is one person from the arrival to the end of the session.
func (c *crowd) visit(ctx context.Context) {
	p, err := c.arrive(ctx)
	if err != nil || p == nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, time.Duration(10+rand.IntN(20))*time.Second)
	defer cancel()
	c.wait(within, p)
}

// annoy lets a small fault happen: each lasts at most a second.
func (w *world) annoy(n int) {
	node := w.Nodes[rand.IntN(len(w.Nodes))]
	switch n % 6 {
	case 0:
		w.door.lay("latency", "downstream", map[string]any{"latency": 100, "jitter": 50})
		sleep(w.ctx, time.Second)
		w.door.clear()
	case 1:
		w.must(w.client.ScriptFlush(w.ctx).Err())
	case 2:
		w.redis.Pause()
		sleep(w.ctx, 300*time.Millisecond)
		w.redis.Resume()
	case 3:
		w.must(node.Signal(syscall.SIGSTOP))
		sleep(w.ctx, 300*time.Millisecond)
		w.must(node.Signal(syscall.SIGCONT))
	case 4:
		w.door.lay("reset_peer", "downstream", map[string]any{"timeout": 50})
		sleep(w.ctx, 300*time.Millisecond)
		w.door.clear()
	case 5:
		w.must(node.Signal(syscall.SIGTERM))
		<-node.Ended()
		w.must(node.Run())
		w.must(w.Ready(w.ctx, node))
	}
}

// held is what the nodes and the store hold: the nodes' live heap in MB and goroutines, and the store's keys.
func (w *world) held() map[string]float64 {
	all := map[string]float64{}
	for _, n := range append([]*fleet.Node{w.Admin}, w.Nodes...) {
		heap, goroutines, err := w.Live(w.ctx, n)
		w.must(err)
		all["MB of heap"] += heap / 1e6
		all["goroutines"] += goroutines
	}
	all["keys in the store"] = float64(w.client.DBSize(w.ctx).Val())
	return all
}

// balanced checks that whoever came to the line is somewhere.
func (w *world) balanced() {
	w.t.Helper()
	var live struct {
		Waiting, Running float64
		Books            map[string]json.Number
	}
	w.must(w.Call(w.ctx, http.MethodGet, "/items/"+lined, nil, &live))
	of := func(names ...string) (sum float64) {
		for _, name := range names {
			n, err := live.Books[name].Float64()
			w.must(err)
			sum += n
		}
		return sum
	}
	came, gone := of("joined", "returned"), live.Waiting+of("admitted", "abandoned", "left")
	in, out := of("admitted", "carried"), live.Running+of("finished", "no_show", "revoked")
	if math.Abs(came-gone) > 0 || math.Abs(in-out) > 0 {
		w.t.Errorf("the books do not balance: %+v", live)
	}
	w.t.Logf("%.0f came, %.0f were let in", came, in)
}
