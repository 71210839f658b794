package linetest

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

// gone is how long after the abandon time everybody silent has left: a round through the line takes a quarter of it, and
// whoever falls silent just behind one waits for the next.
func gone(l queue.Limits) time.Duration {
	return time.Duration(l.AbandonMS)*time.Millisecond/2 + 2*time.Second
}

var silence = []test{
	{"a line that falls silent as a whole is gone after half of the abandon time", func(s *stand) { // B157
		s.set(func(l *queue.Limits) { l.Inflow, l.AbandonMS = 0, 120_000 })
		s.switchTo(queue.Activate)
		s.fill(1, 3000)
		s.run(120*time.Second, time.Second)
		s.sizes(3000, 0)
		s.run(gone(s.limits), 250*time.Millisecond)
		s.sizes(0, 0)
		is(s, "abandoned", s.look().Counts.Abandoned, 3000)
	}},
	{"a line that shrinks is looked through no slower", func(s *stand) { // B157
		s.set(func(l *queue.Limits) { l.Inflow, l.AbandonMS = 0, 40_000 })
		s.switchTo(queue.Activate)
		vs := s.fill(1, 400)
		for range 41 {
			s.hear(vs[:10]...)
			s.run(time.Second, time.Second)
		}
		s.hear(vs[:10]...)
		s.run(gone(s.limits), 250*time.Millisecond)
		s.sizes(10, 0)
	}},
	{"a line that grows while it is looked through is looked through no slower", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow, l.AbandonMS = 0, 40_000 })
		s.switchTo(queue.Activate)
		s.fill(1, 20)
		s.run(250*time.Millisecond, 250*time.Millisecond) // a round of 20 begins
		s.fill(21, 2980)
		s.run(40*time.Second, 250*time.Millisecond)
		s.run(gone(s.limits), 250*time.Millisecond)
		s.sizes(0, 0)
	}},
}
