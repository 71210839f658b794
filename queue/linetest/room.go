package linetest

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

var roomTests = []test{
	{"no more are inside than there is room for", func(s *stand) { // room-limit
		s.set(func(l *queue.Limits) { patient(l); l.MaxActive, l.Inflow = 7, 100 })
		s.switchTo(queue.Activate)
		vs := s.fill(1, 40)
		for i := range 5 {
			s.run(time.Second, 250*time.Millisecond)
			s.sizes(int64(40-7-i), 7)
			s.end(queue.Finish, vs[i])
		}
		is(s, "at once", s.join(visitor(100))[0].Outcome, queue.Waiting)
	}},
	{"the room of those known to be inside is theirs until they come or a session is over", func(s *stand) {
		s.set(func(l *queue.Limits) { patient(l); l.MaxActive, l.Inflow = 10, 100 })
		s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector, Reserved: 8})
		now := s.nowMS()
		s.fill(1, 30)
		s.run(time.Second, 250*time.Millisecond)
		s.sizes(28, 2)
		is(s, "grace", s.ask(queue.Ask{Visitor: visitor(100), MarkMS: now - 1000}).Outcome, queue.Inside)
		s.run(time.Second, 250*time.Millisecond)
		s.sizes(28, 3)
		is(s, "reserved", s.look().Counts.Reserved, 7)
		s.clock.Set(time.UnixMilli(now + 299_999))
		s.step()
		s.sizes(28, 3)
		s.run(time.Millisecond, time.Millisecond)
		is(s, "reserved", s.look().Counts.Reserved, 0)
		s.sizes(21, 10)
	}},
	{"grace and an operator may go past the room, the line may not", func(s *stand) {
		s.set(func(l *queue.Limits) { patient(l); l.MaxActive, l.Inflow = 2, 100 })
		s.switchTo(queue.Activate)
		now := s.nowMS()
		for i := range 4 {
			is(s, "grace", s.ask(queue.Ask{Visitor: visitor(100 + i), MarkMS: now - 1000}).Outcome, queue.Inside)
		}
		s.fill(1, 10)
		s.run(time.Second, 250*time.Millisecond)
		s.sizes(10, 4)
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 3})
		s.run(time.Second, 250*time.Millisecond)
		s.sizes(7, 7)
	}},
	{"a lower limit lets nobody in until there is room again", func(s *stand) {
		s.set(func(l *queue.Limits) { patient(l); l.MaxActive, l.Inflow = 5, 100 })
		s.switchTo(queue.Activate)
		vs := s.fill(1, 20)
		s.run(time.Second, 250*time.Millisecond)
		s.set(func(l *queue.Limits) { l.MaxActive = 2 })
		for _, v := range vs[:3] {
			s.end(queue.Finish, v)
			is(s, "let in", len(s.run(time.Second, 250*time.Millisecond)), 0)
		}
		s.end(queue.Finish, vs[3])
		is(s, "let in", len(s.run(time.Second, 250*time.Millisecond)), 1)
	}},
}
