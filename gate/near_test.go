package gate

import (
	"net/http"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// Positions near the head come from one look that all share, exact and in order; who is let in hears of it at the very
// next poll, and so does everybody of whoever has left.
func TestPollsNearTheHeadShareALookAndMissNoAdmission(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, func(p *queue.Policy) { p.InflowPerSecond = 2 })
	r.activate("sku-1")
	clients := make([]*client, 150)
	for i := range clients {
		c := r.app()
		clients[i] = c.keep(c.check("sku-1"))
	}
	r.do("sku-1", queue.SwitchOrder{Action: queue.Admit, Count: 10})
	clients[100].do(http.MethodDelete, "/v1/items/sku-1/place")
	clients = append(clients[:100:100], clients[101:]...)
	for round := range 5 {
		r.pass(time.Second)
		asks, heads, waits := r.store.calls.Load(), r.store.heads.Load(), 0
		waiting := clients[:0:0]
		for i, c := range clients {
			b := c.at((round + i) % 3).status("sku-1")
			standing, err := r.store.Find(t.Context(), "sku-1", r.visitor(b))
			if err != nil {
				t.Fatal(err)
			}
			if standing.Outcome == queue.Inside {
				c.want(b, "pass/admitted")
				continue
			}
			if b.Action != "wait" || b.position() != standing.Position || !b.Place.Exact {
				t.Fatalf("round %d: who stands at %d is answered %s", round, standing.Position, b.raw)
			}
			waits++
			waiting = append(waiting, c.keep(b))
		}
		let := len(clients) - waits
		if let == 0 {
			t.Errorf("round %d: nobody is let in", round)
		}
		asks, heads = r.store.calls.Load()-asks, r.store.heads.Load()-heads
		if next := 4; asks > int64(let+next) || heads > 3 {
			t.Errorf("round %d: %d of %d polls asked the line, %d let in; %d looks at its head", round, asks, len(clients), let, heads)
		}
		clients = waiting
	}
}

// An operator lets people in, or somebody takes an older place, between a look and a poll: the node that moved the line
// looks anew, and no position shown grows unless it has.
func TestANodeThatMovesALineLooksAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 1 })
	r.activate("sku-1")
	clients := make([]*client, 60)
	for i := range clients {
		c := r.app()
		clients[i] = c.keep(c.check("sku-1"))
	}
	last := clients[len(clients)-1]
	before := last.keep(last.status("sku-1")).status("sku-1").position()
	line := r.store.Line
	if _, err := line.Switch(t.Context(), "sku-1", queue.SwitchOrder{Action: queue.Admit, Count: 20}); err != nil {
		t.Fatal(err)
	}
	step, err := line.Step(t.Context(), "sku-1", queue.StepOrder{Limits: r.limits("sku-1")})
	if err != nil || len(step.Admitted) < 20 {
		t.Fatalf("%d let in, %v", len(step.Admitted), err)
	}
	r.nodes[0].Moved("sku-1")
	if now := last.status("sku-1").position(); now != before-int64(len(step.Admitted)) {
		t.Errorf("at %d, and after %d were let in at %d", before, len(step.Admitted), now)
	}
	clients[10].want(clients[10].status("sku-1"), "pass/admitted")
}
