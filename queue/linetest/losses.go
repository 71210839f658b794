package linetest

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

// remember is what a node knows of the queue now.
func (s *stand) remember() queue.Known {
	s.Helper()
	l := s.look()
	return queue.Known{Header: l.Header, LastScore: l.LastScore, Inside: l.Counts.Running + l.Counts.Reserved}
}

// lose makes the item another one, of which the line has never heard: a store that was wiped.
func (s *stand) lose() { s.item += "-lost" }

// restore gives back what was known.
func (s *stand) restore(k queue.Known) queue.SwitchReport {
	s.Helper()
	return s.order(queue.SwitchOrder{Action: queue.Restore, Known: k})
}

var losses = []test{
	{"after a loss tickets bring people back in their order, in whatever order they come", func(s *stand) { // B028, heals
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 4 })
		s.switchTo(queue.Activate)
		var tickets []queue.Ticket
		for i := range 3 {
			tickets = append(tickets, s.ticket(s.join(visitor(i))[0]))
			s.clock.Add(time.Microsecond)
		}
		five := 5.
		s.order(queue.SwitchOrder{Action: queue.SetInflow, Inflow: &five})
		k := s.remember()
		s.lose()
		is(s, "missing", s.stepOnce().Missing, true)
		r := s.restore(k)
		is(s, "changed", r.Changed, true)
		is(s, "generation", r.Header.Generation, k.Header.Generation)
		is(s, "epoch", r.Header.Epoch != k.Header.Epoch, true)
		is(s, "version", r.Header.Version > k.Header.Version, true)
		is(s, "inflow", r.Header.Inflow, 5)
		is(s, "cause", r.Header.Cause, queue.ByOperator)
		for i := 2; i >= 0; i-- {
			a := s.comeBack(visitor(i), tickets[i])
			is(s, "returned", a.Returned, true)
			is(s, "score", a.Score, tickets[i].Score)
			is(s, "at the head for now", a.Position, 1)
		}
		for i := range 3 {
			is(s, "position", s.poll(visitor(i)).Position, int64(i+1))
		}
		is(s, "a newcomer", s.join(visitor(9))[0].Position, 4)
		c := s.look().Counts
		is(s, "returned", c.Returned, 3)
		is(s, "restored", c.Restored, 3)
		is(s, "twice", s.restore(k).Changed, false)
		s.sizes(4, 0)
	}},
	{"after a loss nobody goes in for a while, and then in order", func(s *stand) { // heals
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 100 })
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		k := s.remember()
		k.HoldMS = 5000
		s.lose()
		s.restore(k)
		s.fill(2, 5)
		is(s, "held", len(s.run(4*time.Second, 250*time.Millisecond)), 0)
		s.comeBack(visitor(1), t)
		is(s, "hold", s.look().HoldMS > s.nowMS(), true)
		is(s, "held", len(s.run(999*time.Millisecond, 333*time.Millisecond)), 0)
		in := s.run(time.Second, 250*time.Millisecond)
		is(s, "let in", len(in), 6)
		is(s, "first", in[0].Visitor, visitor(1))
	}},
	{"ends that a node remembers stay when the store has lost them", func(s *stand) {
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 0 })
		s.switchTo(queue.Activate)
		var tickets []queue.Ticket
		var scores []int64
		for i := range 4 {
			tickets = append(tickets, s.ticket(s.join(visitor(i))[0]))
			s.clock.Add(time.Second)
		}
		one := int64(1)
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: one}) // visitor 0
		s.step()
		claimed := s.poll(visitor(0))
		is(s, "inside: the score of ended tickets", claimed.Score >= tickets[3].Score, true)
		scores = append(scores, claimed.Score)
		for i := 1; i <= 2; i++ {
			r := s.end(queue.Leave, visitor(i))
			is(s, "left: the score of ended tickets", r.Score >= tickets[i].Score, true)
			scores = append(scores, r.Score)
		}
		again := s.ticket(s.join(visitor(2))[0]) // has a newer place
		s.clock.Add(time.Second)
		is(s, "was running", s.end(queue.Finish, visitor(0)).WasRunning, true)
		finished := s.nowMS()

		k := s.remember()
		s.lose()
		s.restore(k)
		gen := k.Header.Generation
		// Some come to nodes that know nothing of it, before the marks are back.
		is(s, "left", s.comeBack(visitor(1), tickets[1]).Returned, true)
		is(s, "renewed", s.renew(visitor(0), gen, claimed.Admission.IssuedMS, s.nowMS()+200_000), false)
		is(s, "who waits", s.comeBack(visitor(3), tickets[3]).Returned, true)
		marks := []queue.Mark{
			{Visitor: visitor(0), Score: scores[0], UntilMS: finished}, {Visitor: visitor(1), Score: scores[1], UntilMS: -1},
			{Visitor: visitor(2), Score: scores[2], UntilMS: -1},
		}
		r := s.recall(gen, marks...)
		is(s, "places that had come back", r.Left, 1)
		is(s, "sessions that had", r.Finished, 1)
		r = s.recall(gen, marks...)
		is(s, "again", r.Left+r.Finished, 0)
		for i := range 3 {
			is(s, "an ended ticket", s.comeBack(visitor(i), tickets[i]).Outcome, queue.NoPlace)
		}
		is(s, "the finished pass", s.renew(visitor(0), gen, claimed.Admission.IssuedMS, claimed.Admission.PassEndsMS), true)
		is(s, "the newer place", s.comeBack(visitor(2), again).Returned, true)
		is(s, "who waits", s.poll(visitor(3)).Outcome, queue.Waiting)
		s.sizes(2, 0)
	}},
	{"ends of another generation, or of a draw, end no places", func(s *stand) {
		s.set(func(l *queue.Limits) { patient(l); l.Random = true })
		s.order(queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale})
		gen := s.look().Header.Generation
		a := s.asks(queue.Ask{Visitor: visitor(1), Create: true, Lot: lot(visitor(1))}, queue.Ask{Visitor: visitor(2), Create: true, Lot: lot(visitor(2))})
		t := s.ticket(a[1])
		now := s.nowMS()
		is(s, "a lot that is there", s.recall(gen, queue.Mark{Visitor: visitor(1), Score: now * 1000, UntilMS: -1}).Left, 0)
		is(s, "another generation", s.recall(gen-1, queue.Mark{Visitor: visitor(2), Score: now * 1000, UntilMS: -1}).Left, 0)
		s.sizes(2, 0)
		k := s.remember()
		s.lose()
		s.restore(k)
		s.recall(gen-1, queue.Mark{Visitor: visitor(2), Score: now * 1000, UntilMS: -1})
		is(s, "its ticket", s.comeBack(visitor(2), t).Returned, true)
	}},
	{"ends are of no account where nothing is kept, and while off", func(s *stand) {
		m := queue.Mark{Visitor: visitor(1), Score: s.nowMS() * 1000, UntilMS: s.nowMS()}
		is(s, "nothing is kept", s.recall(1, m).Header.Generation, 0)
		s.switchTo(queue.Activate)
		s.switchTo(queue.Deactivate)
		is(s, "off", s.recall(s.look().Header.Generation, m).Header.State, queue.Off)
	}},
	{"after a loss the room of those inside is kept until their passes show up", func(s *stand) { // heals
		s.set(func(l *queue.Limits) { patient(l); l.MaxActive, l.Inflow = 10, 100 })
		s.switchTo(queue.Activate)
		s.fill(1, 8)
		s.run(time.Second, 250*time.Millisecond)
		a := s.poll(visitor(1)).Admission
		k := s.remember()
		s.lose()
		s.restore(k)
		is(s, "reserved", s.look().Counts.Reserved, 8)
		s.fill(100, 10)
		s.run(5*time.Second, 250*time.Millisecond)
		s.sizes(8, 2)
		is(s, "ended", s.renew(visitor(1), k.Header.Generation, a.IssuedMS, a.PassEndsMS), false)
		is(s, "outcome", s.find(visitor(1)).Outcome, queue.Inside)
		is(s, "reserved", s.look().Counts.Reserved, 7)
		s.sizes(8, 3)
	}},
	{"a later generation takes the place of an older one, and no other does", func(s *stand) {
		s.switchTo(queue.Activate)
		s.fill(1, 3)
		k := s.remember()
		is(s, "the same", s.restore(k).Changed, false)
		k.Header.Generation--
		is(s, "an older one", s.restore(k).Changed, false)
		k.Header.Generation += 11
		r := s.restore(k)
		is(s, "a later one", r.Changed, true)
		is(s, "generation", r.Header.Generation, k.Header.Generation)
		next := s.switchTo(queue.Deactivate)
		is(s, "off", next.Header.State, queue.Off)
		is(s, "never used again", s.switchTo(queue.Activate).Header.Generation > k.Header.Generation, true)
	}},
	{"a restart with a queue that was off remembers its generation", func(s *stand) {
		s.switchTo(queue.Activate)
		k := s.remember()
		k.Header.State = queue.Off
		k.Header.Generation += 1_000_000
		s.lose()
		is(s, "state", s.restore(k).Header.State, queue.Off)
		is(s, "generation", s.switchTo(queue.Activate).Header.Generation, k.Header.Generation+1)
	}},
	{"a store that is behind what a node has seen begins a new epoch", func(s *stand) {
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 100 })
		s.switchTo(queue.Activate)
		s.fill(1, 4)
		s.run(10*time.Millisecond, 10*time.Millisecond)
		k := s.remember()
		s.seen = k
		is(s, "in step with the node", s.step().Restored, false)
		k.LastScore += 7_000_000
		k.Inside = 9
		s.seen = k
		r := s.step()
		is(s, "restored", r.Restored, true)
		is(s, "epoch", r.Header.Epoch != k.Header.Epoch, true)
		is(s, "version", r.Header.Version > k.Header.Version, true)
		is(s, "last score", r.LastScore, k.LastScore)
		is(s, "reserved", r.Counts.Reserved, 8)
		is(s, "let in", len(r.Admitted), 0)
		s.sizes(3, 1)
		s.balanced()
		is(s, "held", len(s.run(1900*time.Millisecond, 100*time.Millisecond)), 0)
		s.seen = k
		is(s, "once", s.step().Restored, false)
		is(s, "a newcomer is behind all", s.join(visitor(9))[0].Score, k.LastScore+1)
		is(s, "afterwards", len(s.run(time.Second, 100*time.Millisecond)), 4)
	}},
	{"a pause that the store has lost holds", func(s *stand) {
		s.set(patient)
		s.switchTo(queue.Activate)
		s.fill(1, 4)
		k := s.remember()
		k.Header.State = queue.Paused
		k.Header.Version += 1000
		one := 1.
		k.Header.Override = &one
		s.seen = k
		r := s.step()
		is(s, "restored", r.Restored, true)
		is(s, "state", r.Header.State, queue.Paused)
		is(s, "inflow", r.Header.Inflow, 1)
		is(s, "version", r.Header.Version > k.Header.Version, true)
		is(s, "let in", len(s.run(5*time.Second, time.Second)), 0)
	}},
	{"a generation that the store has lost goes on, and so do those in line", func(s *stand) {
		s.set(patient)
		s.switchTo(queue.Activate)
		s.fill(1, 4)
		k := s.remember()
		k.Header.Generation += 5
		k.Header.PassesFrom = k.Header.Generation
		k.Header.Version += 1000
		s.seen = k
		r := s.step()
		is(s, "restored", r.Restored, true)
		is(s, "generation", r.Header.Generation, k.Header.Generation)
		is(s, "passes from", r.Header.PassesFrom, k.Header.PassesFrom)
		is(s, "waiting", r.Counts.Waiting, 4)
	}},
}
