package gate

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// full remembers as many as there is room for, who joined at 1,000 ms and are dropped after two minutes of silence.
func full(t *testing.T) *etas {
	t.Helper()
	e := &etas{}
	for i := range mostEtas {
		e.told("sku-1", queue.Visitor(fmt.Sprint(i)), etaTold{wait: time.Hour, joinedMS: 1000, generation: 1, abandonMS: 120_000}, inGeneration(1))
	}
	if len(e.all) != mostEtas {
		t.Fatalf("%d are remembered, not %d", len(e.all), mostEtas)
	}
	return e
}

func inGeneration(n queue.Generation) func(queue.Item) queue.Generation {
	return func(queue.Item) queue.Generation { return n }
}

func TestThoseWhoCannotComeAnyMoreMakeRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		before     func(e *etas)
		atMS       int64
		generation queue.Generation
		left       int // of the old ones, with the new one
		remembered bool
	}{
		{name: "all still in line keep theirs", atMS: 5000, generation: 1, left: mostEtas},
		{name: "who fell silent is forgotten", atMS: 121_001, generation: 1, left: 1, remembered: true},
		{
			name: "who still asks is not", atMS: 121_001, generation: 1, left: 2, remembered: true,
			before: func(e *etas) { e.heard("sku-1", "7", 60_000) },
		},
		{name: "who left is forgotten at once", atMS: 1001, generation: 1, left: mostEtas, remembered: true, before: func(e *etas) { e.forget("sku-1", "7") }},
		{name: "a line that is over is forgotten", atMS: 5000, generation: 2, left: 1, remembered: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := full(t)
			if c.before != nil {
				c.before(e)
			}
			e.told("sku-1", "new", etaTold{wait: time.Hour, joinedMS: c.atMS, generation: c.generation, abandonMS: 120_000}, inGeneration(c.generation))
			if len(e.all) != c.left {
				t.Errorf("%d are remembered, want %d", len(e.all), c.left)
			}
			if _, _, ok := e.letIn("sku-1", "new", c.atMS+10_000); ok != c.remembered {
				t.Errorf("the one who came last is remembered: %v, want %v", ok, c.remembered)
			}
		})
	}
}

func TestWhoGivesThePlaceUpIsForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 0.1 })
	r.activate("sku-1")
	for range 3 {
		c := r.app()
		c.keep(c.check("sku-1")).do(http.MethodDelete, "/v1/items/sku-1/place")
	}
	if n := len(r.nodes[0].etas.all); n != 0 {
		t.Errorf("%d are remembered after all have left", n)
	}
}
