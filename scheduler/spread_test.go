package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

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
				s.on(item, int(18*one.inflow)+5)
				m.Wake(item)
			}
			movers := []*scheduler.Mover{m}
			s.run(8*time.Second, movers, nil) // from wherever their people became due to turns of their own
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

// The first person goes in within a tick of being due, whatever the rate was before and whenever it changes; the others
// at the rate, give or take two ticks, and none a pace late.
func TestPeopleGoInWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	const tick = 250 * time.Millisecond
	rapid.Check(t, func(rt *rapid.T) {
		s := newStand(t)
		s.policy.InflowPerSecond, s.policy.AbandonSeconds = rapid.SampledFrom([]float64{0, 0.01, 0.3, 1}).Draw(rt, "before"), 86400
		item := queue.Item(rapid.StringMatching(`sku-[0-9]{1,4}`).Draw(rt, "item"))
		s.on(item, 40)
		m := s.mover(scheduler.NewShare("a"))
		m.WakeAll()
		movers := []*scheduler.Mover{m}
		s.run(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms"))*time.Millisecond, movers, nil)
		inflow := rapid.SampledFrom([]float64{0.2, 0.5, 0.9, 1, 1.5, 2, 3, 3.9}).Draw(rt, "after")
		was := len(s.admitted[item])
		if _, err := s.line.Switch(t.Context(), item, queue.SwitchOrder{Action: queue.SetInflow, Inflow: &inflow}); err != nil {
			rt.Fatal(err)
		}
		m.Wake(item)
		changed := s.clock.Now().Sub(noon)
		s.run(8*time.Second, movers, nil)
		in := s.admitted[item][was:]
		gap := time.Duration(float64(time.Second) / inflow)
		before := changed
		for k, at := range in {
			late, allowed := at-changed-time.Duration(k+1)*gap, tick+m.Phase()
			if k > 0 {
				allowed = min(time.Second, gap) + m.Phase()
			}
			if late > allowed || at-before > gap+2*tick+m.Phase() {
				rt.Fatalf("person %d went in %v after being due at %v a second, %v after the one before", k, late, inflow, at-before)
			}
			before = at
		}
		if want := int((8*time.Second - tick - m.Phase()).Seconds() * inflow); len(in) < want {
			rt.Fatalf("%d in, want %d", len(in), want)
		}
	})
}
