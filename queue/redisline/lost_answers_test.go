package redisline_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// B128: movers that die between the request and its answer lose nobody, admit nobody twice, and leave the books true.
func TestMoversThatDieLoseNobody(t *testing.T) {
	t.Parallel()
	const people, movers = 20_000, 4
	s := redistest.New(t)
	client := s.Client()
	line := redisline.New(redisline.Options{Client: client, Prefix: "sluice:"})
	ctx := t.Context()
	policy := queue.DefaultPolicy()
	policy.InflowPerSecond, policy.AbandonSeconds = 10_000, 3600
	limits := policy.Limits(1)
	if _, err := line.Switch(ctx, "sku-1", queue.SwitchOrder{Action: queue.Activate, Limits: limits, Cause: queue.ByOperator}); err != nil {
		t.Fatal(err)
	}
	joined := map[queue.Visitor]int{}
	for n := 0; n < people; n += 200 {
		asks := make([]queue.Ask, 200)
		for i := range asks {
			asks[i] = queue.Ask{Visitor: queue.NewVisitor(), Create: true}
			joined[asks[i].Visitor] = n + i
		}
		if _, err := line.Ask(ctx, "sku-1", asks); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	told := map[queue.Visitor]int{} // by the steps whose answers arrived
	var wait sync.WaitGroup
	deadline := time.Now().Add(15 * time.Second)
	for range movers {
		wait.Go(func() {
			for time.Now().Before(deadline) {
				// A mover that is killed does not read its answer: the connection goes with it.
				step, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(2000))*time.Microsecond)
				r, err := line.Step(step, "sku-1", queue.StepOrder{Limits: limits, Most: 300, TickMS: 250})
				cancel()
				if err != nil {
					continue
				}
				mu.Lock()
				for _, in := range r.Admitted {
					told[in.Visitor]++
				}
				mu.Unlock()
				if r.Counts.Waiting == 0 {
					return
				}
				if !r.Counts.Balanced() {
					t.Errorf("the books do not balance: %+v", r.Counts)
					return
				}
			}
		})
	}
	wait.Wait()
	for v, n := range told {
		if n != 1 {
			t.Fatalf("%s was admitted %d times", v, n)
		}
	}
	look, err := line.Look(ctx, "sku-1")
	if err != nil {
		t.Fatal(err)
	}
	c := look.Counts
	if c.Joined != people || c.Waiting+c.Running+c.Finished+c.NoShow+c.Left+c.Abandoned != people || !c.Balanced() {
		t.Errorf("of %d people: %+v", people, c)
	}
	running, err := client.ZRange(ctx, "sluice:{sku-1}:running", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := client.ZRange(ctx, "sluice:{sku-1}:waiting", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]bool{}
	for _, v := range append(running, waiting...) {
		if in[v] {
			t.Fatalf("%s is in two sets", v)
		}
		in[v] = true
	}
	if len(in) != people {
		t.Errorf("%d of %d people are in a set", len(in), people)
	}
}
