package linetest

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

var times = []test{
	{"a mover that stood still takes nobody's time", func(s *stand) { // live time
		s.tickMS = 250
		s.set(func(l *queue.Limits) { l.Inflow, l.ClaimMS, l.AbandonMS, l.SessionMS = 1, 30_000, 30_000, 30_000 })
		s.switchTo(queue.Activate)
		vs := s.fill(1, 5)
		s.run(2*time.Second, 250*time.Millisecond)
		is(s, "one has claimed", s.poll(vs[0]).Outcome, queue.Inside)
		s.sizes(3, 2)
		s.clock.Add(600 * time.Second)
		r := s.step()
		is(s, "no-shows", r.NoShow, 0)
		is(s, "finished", r.Finished, 0)
		is(s, "abandoned", r.Abandoned, 0)
		is(s, "let in: no more than a bucket holds", len(r.Admitted), 2)
		s.sizes(1, 4)
		is(s, "the admission is still there", s.poll(vs[1]).Outcome, queue.Inside)
		s.hear(vs[4])
		n := s.run(50*time.Second, 250*time.Millisecond)
		is(s, "let in", len(n), 1)
		c := s.look().Counts
		is(s, "then time goes on: the one who had claimed has finished, the renewed one too", c.Finished, 2)
		is(s, "and the others have not come", c.NoShow >= 2, true)
	}},
	{"a short delay of the mover is time all the same", func(s *stand) {
		s.tickMS = 250
		s.set(func(l *queue.Limits) { l.ClaimMS = 10_000 })
		s.switchTo(queue.Activate)
		s.fill(1, 1)
		s.run(time.Second, 250*time.Millisecond)
		s.run(10*time.Second, 2*time.Second)
		s.sizes(0, 0)
		is(s, "no-shows", s.look().Counts.NoShow, 1)
	}},
	{"a line of nine hours keeps its places", func(s *stand) { // B104
		s.set(func(l *queue.Limits) { l.Inflow = 1. / 3240 }) // the tenth goes in after nine hours
		s.switchTo(queue.Activate)
		vs := s.fill(1, 8)
		awake := s.join(visitor(100))[0]
		sleeper := s.join(visitor(101))[0]
		t := s.ticket(sleeper)
		var order []queue.Visitor
		position := int64(10)
		const beat = 50 * time.Second
		for at := time.Duration(0); at < 9*time.Hour+10*time.Minute; at += beat {
			for _, in := range s.run(beat, beat) {
				order = append(order, in.Visitor)
				s.poll(in.Visitor)
			}
			s.hear(append(vs, visitor(100))...)
			if s.find(visitor(100)).Outcome == queue.Waiting {
				is(s, "score", s.find(visitor(100)).Score, awake.Score)
			}
			if at%(6*beat) == 0 && s.find(visitor(101)).Outcome != queue.Inside { // back every five minutes
				a := s.comeBack(visitor(101), t)
				if a.Outcome != queue.Waiting || a.Score != sleeper.Score || a.Position > position {
					s.Fatalf("after %s: %+v", at, a)
				}
				position = a.Position
			}
			if at > 8*time.Hour+50*time.Minute { // near the head the page polls as it is told
				s.hear(visitor(101))
			}
		}
		is(s, "let in", len(order), 10)
		is(s, "the last but one", order[8], visitor(100))
		is(s, "the last", order[9], visitor(101))
	}},
	{"a queue with little traffic lives as long as it is on", func(s *stand) { // B152
		s.set(func(l *queue.Limits) { l.Inflow, l.AbandonMS, l.ClaimMS = 1./3600, 1_800_000, 1_800_000 })
		gen := s.switchTo(queue.Activate).Header.Generation
		var waiting, order []queue.Visitor
		next := 0
		for at := time.Duration(0); at < 48*time.Hour; at += 10 * time.Minute {
			if at%(50*time.Minute) == 0 {
				a := s.join(visitor(next))[0]
				if a.Outcome == queue.Waiting {
					is(s, "position", a.Position, int64(len(waiting)+1))
					waiting = append(waiting, visitor(next))
				}
				next++
			}
			for _, in := range s.run(10*time.Minute, 10*time.Minute) {
				order = append(order, in.Visitor)
				is(s, "next", in.Visitor, waiting[0])
				waiting = waiting[1:]
				is(s, "claimed", s.poll(in.Visitor).Outcome, queue.Inside)
			}
			is(s, "missing", len(s.hear(waiting...)), 0)
		}
		is(s, "generation", s.look().Header.Generation, gen)
		if len(order) < 46 || len(order) > 48 {
			s.Fatalf("%d let in in 48 hours", len(order))
		}
		s.switchTo(queue.Deactivate)
	}},
}
