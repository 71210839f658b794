package linetest

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/queue"
)

var races = []test{
	{"who joins while the queue ends is served or passes", func(s *stand) { // B130
		endings := map[string]func(){
			"release": func() {
				s.clock.Add(61 * time.Second)
				s.stepRace()
			},
			"deactivate": func() { s.switchRace(queue.Deactivate) },
			"reset":      func() { s.switchRace(queue.Reset) },
			"drain": func() {
				s.switchRace(queue.Drain)
				s.stepRace()
			},
			"close": func() { s.switchRace(queue.Close) },
		}
		for name, ending := range endings {
			s.item = queue.Item("sku-" + name)
			rounds := 20
			if long {
				rounds = 2000
			}
			for round := range rounds {
				cause := queue.ByOperator
				if name == "release" {
					cause = queue.ByDetector
				}
				s.order(queue.SwitchOrder{Action: queue.Activate, Cause: cause})
				s.join(visitor(0))
				s.end(queue.Leave, visitor(0))
				s.step() // nobody waits, no token
				var wg sync.WaitGroup
				answers := make([]queue.Answers, 8)
				for i := range answers {
					wg.Go(func() {
						r, err := s.line.Ask(s.ctx, s.item, []queue.Ask{{Visitor: visitor(round*8 + i + 1), Create: true}})
						if err != nil {
							s.Error(err)
						}
						answers[i] = r
					})
				}
				wg.Go(ending)
				wg.Wait()
				s.settled(name, round, answers)
				s.order(queue.SwitchOrder{Action: queue.Deactivate})
				s.balanced()
				s.clock.Add(time.Second)
			}
		}
	}},
	{"one visitor who asks everywhere at once has one place", func(s *stand) { // one-place
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.switchTo(queue.Activate)
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				batch := []queue.Ask{{Visitor: visitor(1), Create: true}, {Visitor: visitor(10 + i), Create: true}, {Visitor: visitor(1), Create: true}}
				if _, err := s.line.Ask(s.ctx, s.item, batch); err != nil {
					s.Error(err)
				}
			})
		}
		wg.Wait()
		s.sizes(33, 0)
		is(s, "joined", s.look().Counts.Joined, 33)
	}},
	{"movers, visitors and operators at once leave the books balanced", func(s *stand) { // books-balance
		s.set(func(l *queue.Limits) { l.Inflow, l.MaxActive = 50, 40 })
		s.switchTo(queue.Activate)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 50 {
					v := visitor(w*50 + i)
					if _, err := s.line.Ask(s.ctx, s.item, []queue.Ask{{Visitor: v, Create: true}}); err != nil {
						s.Error(err)
					}
					if i%5 == 0 {
						_, err := s.line.End(s.ctx, s.item, queue.Ending{Kind: []queue.EndKind{queue.Leave, queue.Finish, queue.Revoke}[i%3], Visitor: v})
						if err != nil {
							s.Error(err)
						}
					}
				}
			})
			wg.Go(func() {
				for range 50 {
					s.clock.Add(20 * time.Millisecond)
					s.stepRace()
					c, err := s.line.Look(s.ctx, s.item)
					if err != nil || !c.Counts.Balanced() {
						s.Errorf("books-balance: %+v, %v", c.Counts, err)
					}
					if c.Counts.Running > 40 {
						s.Errorf("room-limit: %d", c.Counts.Running)
					}
				}
			})
		}
		wg.Wait()
	}},
}

// stepRace and switchRace are for goroutines, which may not end the test.
func (s *stand) stepRace() {
	if _, err := s.line.Step(s.ctx, s.item, queue.StepOrder{Limits: s.limits, Most: 300}); err != nil {
		s.Error(err)
	}
}

func (s *stand) switchRace(a queue.Action) {
	if _, err := s.line.Switch(s.ctx, s.item, queue.SwitchOrder{Action: a, Limits: s.limits, Cause: queue.ByOperator}); err != nil {
		s.Error(err)
	}
}

// settled checks that each of those who asked has what the queue, as it is now, can honour: no place of a generation
// that is over, and none that nobody serves.
func (s *stand) settled(name string, round int, answers []queue.Answers) {
	s.Helper()
	now := s.look()
	for i, r := range answers {
		f := s.find(visitor(round*8 + i + 1))
		got := r.Answers[0].Outcome
		same := r.Header.Generation == now.Header.Generation && now.Header.State == r.Header.State
		if same && f.Outcome == queue.NoPlace && (got == queue.Waiting || got == queue.Inside) {
			s.Errorf("%s: answered %d in a queue that goes on, and has no place", name, got)
		}
		if !now.Header.On() && f.Outcome != queue.NoPlace {
			s.Errorf("%s: a place in a queue that is off", name)
		}
	}
	if c := now.Counts; now.Header.State == queue.Off && c.Waiting+c.Running != 0 {
		s.Errorf("%s: orphans: %+v", name, c)
	}
}
