package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler"
)

func TestItemsThatWentOnTogetherAreSteppedSpreadOverTheirPace(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		inflow    float64
		perSecond int // steps of one item
	}{{0.5, 1}, {1, 1}, {2, 2}, {3, 3}, {50, 4}} {
		t.Run(fmt.Sprintf("at %v a second, %d times a second", one.inflow, one.perSecond), func(t *testing.T) {
			t.Parallel()
			const many = 400
			s := newStand(t)
			s.policy.InflowPerSecond, s.policy.AbandonSeconds = one.inflow, 86400
			m := s.mover(scheduler.NewShare("a"))
			for i := range many {
				item := queue.Item(fmt.Sprint("sku-", i))
				s.on(item, int(12*one.inflow)+5)
				m.Wake(item)
			}
			movers := []*scheduler.Mover{m}
			s.run(2*time.Second, movers, nil)
			steps := func() (n int) {
				for _, of := range s.steps {
					n += of
				}
				return n
			}
			before, most := steps(), 0
			const span = 8
			for range span * time.Second / m.Phase() {
				was := steps()
				s.run(m.Phase(), movers, nil)
				most = max(most, steps()-was)
			}
			a := float64(steps()-before) / many / span
			if one.inflow >= 1 && (a < 0.95*float64(one.perSecond) || a > 1.05*float64(one.perSecond)) {
				t.Errorf("%v steps of an item a second, %d expected", a, one.perSecond)
			}
			// Steps of a phase, were they even; three times as many is what chance makes of 400 items at the very most.
			if even := many * one.perSecond * int(m.Phase()) / int(time.Second); most > 3*max(1, even) {
				t.Errorf("%d steps in one phase, where %d would be even", most, even)
			}
		})
	}
}
