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
