package gate

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/batch"
	"github.com/sluicehq/sluice/queue/memline"
)

// lose makes the store one that has lost everything.
func (r *rig) lose() {
	r.store.Line = memline.New(memline.Options{Clock: r.hand, Traffic: func(item queue.Item, ms int64) (float64, float64, float64) {
		return r.traffic.Measures(item, ms)
	}})
}

// A ticket of a place that was left, or that led in, has no power at the node where that was, on whatever way it comes:
// also when the store has lost its marks, and while it is away.
func TestAnEndedPlaceStaysEndedWhenTheStoreForgets(t *testing.T) {
	t.Parallel()
	ends := map[string]func(r *rig, c *client){
		"left": func(_ *rig, c *client) { c.do(http.MethodDelete, "/v1/items/sku-1/place") },
		"let in, the pass lost": func(r *rig, c *client) {
			r.do("sku-1", queue.SwitchOrder{Action: queue.Admit, Count: 1})
			r.pass(time.Second)
			c.want(c.status("sku-1"), "pass/admitted")
		},
		"finished": func(r *rig, c *client) {
			r.do("sku-1", queue.SwitchOrder{Action: queue.Admit, Count: 1})
			r.pass(time.Second)
			in := c.keep(c.want(c.status("sku-1"), "pass/admitted"))
			if w := in.do(http.MethodPost, "/v1/items/sku-1/finish"); w.Code != http.StatusNoContent {
				t.Fatalf("finish: %d", w.Code)
			}
		},
	}
	ways := map[string]struct {
		target string
		status int
		makes  bool // a new place
	}{
		"check":     {"/v1/items/sku-1/check", 200, true},
		"status":    {"/v1/items/sku-1/status", 404, false},
		"events":    {"/v1/items/sku-1/events", 404, false},
		"the page":  {"/wait/sku-1", 200, true},
		"authorize": {"/v1/authorize/product/sku-1", 401, true},
	}
	for end, ended := range ends {
		for way, tc := range ways {
			t.Run(end+", then by "+way, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond, p.OnStoreFailure = 0, queue.FailClosed })
				r.activate("sku-1")
				c := r.app()
				c = c.keep(c.check("sku-1"))
				r.pass(time.Second)
				ended(r, c) // c goes on showing the ticket
				r.hand.Add(time.Second)

				r.store.down.Store(true)
				if b := c.check("sku-1"); b.verdict() != "wait/store_down" || b.ticket() != "" {
					t.Errorf("while the store is away: %s", b.raw)
				}
				r.store.down.Store(false)
				r.lose()
				w := c.do(http.MethodGet, tc.target)
				if w.Code != tc.status {
					t.Errorf("%d, want %d: %s", w.Code, tc.status, w.Body)
				}
				counts := r.counts("sku-1")
				if counts.Returned != 0 || counts.Waiting != counts.Joined || (counts.Joined == 1) != tc.makes {
					t.Errorf("books %+v", counts)
				}
			})
		}
	}
}

// Leaving and coming back is a place like any other: its ticket holds after a loss, where that of the first does not.
func TestAPlaceAfterAnEndedOneOutlivesTheStore(t *testing.T) {
	t.Parallel()
	for name, random := range map[string]bool{"in order of arrival": false, "in a draw": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, func(p *queue.Policy) {
				p.InflowPerSecond = 0
				if random {
					p.Order = queue.Random
				}
			})
			if random {
				r.do("sku-1", queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale})
			} else {
				r.activate("sku-1")
			}
			c := r.app()
			first := c.keep(c.check("sku-1"))
			r.hand.Add(time.Second)
			first.do(http.MethodDelete, "/v1/items/sku-1/place")
			r.hand.Add(time.Second)
			second := first.at(1).keep(first.at(1).check("sku-1"))
			r.hand.Add(time.Second)
			r.lose()
			if b := first.status("sku-1"); b.code != "no_place" {
				t.Errorf("the first place: %s", b.raw)
			}
			second = second.at(0)
			if b := second.status("sku-1"); b.Action != "wait" {
				t.Errorf("the second place: %s", b.raw)
			}
			if n := r.counts("sku-1"); n.Restored != 1 {
				t.Errorf("books %+v", n)
			}
		})
	}
}

// What a node remembers it gives back to a store that has lost it, in marks that end what came back meanwhile.
func TestMarksGoBackToAStoreThatLostThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.InflowPerSecond = 0 })
	r.activate("sku-1")
	c := r.app()
	c = c.keep(c.check("sku-1"))
	r.hand.Add(time.Second)
	c.do(http.MethodDelete, "/v1/items/sku-1/place")
	r.lose()
	if b := c.at(1).status("sku-1"); b.Action != "wait" {
		t.Fatalf("a node that knows nothing of the end: %s", b.raw)
	}
	h := r.header("sku-1")
	marks := r.nodes[0].beats.Marks(map[queue.Item]batch.Since{"sku-1": {PlacesMS: h.ActivatedMS}})
	if _, err := r.store.Recall(context.Background(), "sku-1", queue.RecallOrder{Generation: h.Generation, Marks: marks["sku-1"]}); err != nil {
		t.Fatal(err)
	}
	for _, way := range []int{0, 1} {
		if b := c.at(way).status("sku-1"); b.code != "no_place" {
			t.Errorf("node %d: %s", way, b.raw)
		}
	}
}

// A stream answers what status would: also to one who was inside when the queue turned on.
func TestAStreamKnowsGrace(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 0 })
	c := r.app()
	c = c.keep(c.check("sku-1"))
	r.hand.Add(2 * time.Second)
	r.activate("sku-1")
	w := c.do(http.MethodGet, "/v1/items/sku-1/events")
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, `"grace"`) {
		t.Errorf("%d %s", w.Code, body)
	}
	if w := r.app().do(http.MethodGet, "/v1/items/sku-1/events"); w.Code != http.StatusNotFound {
		t.Errorf("one who was not: %d", w.Code)
	}
}
