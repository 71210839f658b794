package linetest

import (
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/queue"
)

var places = []test{
	{"nothing is kept of an item that was only asked about", func(s *stand) { // B151
		is(s, "ask", s.join(visitor(1))[0].Outcome, queue.NoQueue)
		is(s, "missing", s.stepOnce().Missing, true)
		is(s, "find", s.find(visitor(1)).Outcome, queue.NoPlace)
		is(s, "state", s.look().Header.State, queue.Off)
		is(s, "generation", s.look().Header.Generation, 0)
		is(s, "not running", s.end(queue.Finish, visitor(1)).WasRunning, false)
		is(s, "nothing is missing", len(s.hear(visitor(1))), 0)
	}},
	{"a visitor is found by the reference that the page shows, in line and inside", func(s *stand) {
		s.switchTo(queue.Activate)
		s.join(visitors(1, 300)...) // more than a store keeps in one piece
		find := func(what, ref string, want queue.Visitor) {
			s.Helper()
			v, found, err := s.line.FindRef(s.ctx, s.item, ref)
			s.must(err)
			is(s, what, found, want != "")
			is(s, what, v, want)
		}
		find("in line", visitor(250).Ref(), visitor(250))
		find("nobody", "AAAAAAAA", "")
		for _, ref := range []string{"", "v", "v*******", "????????", "[a-z]*aa", string(visitor(1)), "v\x00000000"} {
			find("no reference: "+ref, ref, "")
		}
		first := s.run(2*time.Second, 250*time.Millisecond)[0].Visitor
		find("inside", first.Ref(), first)
		s.end(queue.Finish, first)
		find("gone", first.Ref(), "")
	}},
	{"a visitor who asks again keeps the one place", func(s *stand) { // B013, one-place, place-keeps
		s.switchTo(queue.Activate)
		first := s.join(visitor(1), visitor(2), visitor(1))
		is(s, "new", first[0].New, true)
		is(s, "asked twice in one batch", first[2].New, false)
		is(s, "same score", first[2].Score, first[0].Score)
		for range 10 {
			s.clock.Add(time.Second)
			a := s.join(visitor(1))[0]
			is(s, "position", a.Position, 1)
			is(s, "score", a.Score, first[0].Score)
			is(s, "new", a.New, false)
			is(s, "poll", s.poll(visitor(1)).Score, first[0].Score)
		}
		s.sizes(2, 0)
		is(s, "joined", s.look().Counts.Joined, 2)
	}},
	{"people stand in the order in which they were accepted", func(s *stand) { // B025, arrival-order
		s.switchTo(queue.Activate)
		const pairs = 1000 // a visitor and one with a lower name, a nanosecond later, all within a millisecond
		last := int64(0)
		for i := range pairs / 100 {
			var vs []queue.Visitor
			for k := range 100 {
				n := i*100 + k
				vs = append(vs, queue.Visitor("z"+visitor(n)[1:]), queue.Visitor("a"+visitor(n)[1:]))
			}
			for k, a := range s.join(vs...) {
				if a.Score <= last || a.Score > 1<<53 {
					s.Fatalf("score %d after %d: not rising, or past 2^53", a.Score, last)
				}
				is(s, "position", a.Position, int64(i*200+k+1))
				last = a.Score
			}
			s.clock.Add(100 * time.Nanosecond)
		}
	}},
	{"a clock that goes back leaves the order as it is", func(s *stand) { // B080
		s.switchTo(queue.Activate)
		a := s.join(visitor(1))[0]
		s.clock.Add(-5 * time.Second)
		b := s.join(visitor(2))[0]
		is(s, "next score", b.Score, a.Score+1)
		is(s, "position", b.Position, 2)
	}},
	{"the first in line is at position 1", func(s *stand) { // B014
		s.switchTo(queue.Activate)
		is(s, "position", s.join(visitor(1))[0].Position, 1)
		is(s, "found at", s.find(visitor(1)).Position, 1)
	}},
	{"a peek makes no place and is no sign of life", func(s *stand) { // never-cached
		s.switchTo(queue.Activate)
		is(s, "newcomer", s.ask(queue.Ask{Visitor: visitor(1), Create: true, Peek: true}).Outcome, queue.NoPlace)
		a := s.join(visitor(1))[0]
		heard := s.find(visitor(1)).HeardMS
		s.clock.Add(30 * time.Second)
		is(s, "in line", s.ask(queue.Ask{Visitor: visitor(1), Peek: true}).Position, 1)
		is(s, "heard", s.find(visitor(1)).HeardMS, heard)
		s.poll(visitor(1))
		is(s, "heard by a poll", s.find(visitor(1)).HeardMS, heard+30_000)
		s.end(queue.Revoke, visitor(2))
		t := s.ticket(a)
		t.Score -= 1000
		is(s, "no place moves", s.ask(queue.Ask{Visitor: visitor(1), Peek: true, Ticket: &t}).Score, a.Score)
	}},
	{"who only asks for the status gets no place", func(s *stand) {
		s.switchTo(queue.Activate)
		is(s, "outcome", s.poll(visitor(1)).Outcome, queue.NoPlace)
		s.sizes(0, 0)
	}},
	{"a full line refuses newcomers until somebody leaves", func(s *stand) { // B110
		s.set(func(l *queue.Limits) { l.MaxWaiting, l.Inflow = 100, 0 })
		s.switchTo(queue.Activate)
		var wg sync.WaitGroup
		for w := range 50 {
			wg.Go(func() {
				for i := range 3 {
					if _, err := s.line.Ask(s.ctx, s.item, []queue.Ask{{Visitor: visitor(w*3 + i), Create: true}}); err != nil {
						s.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s.sizes(100, 0)
		var in, out []queue.Visitor
		for i := range 150 {
			switch a := s.join(visitor(i))[0]; a.Outcome {
			case queue.Waiting:
				in = append(in, visitor(i))
			case queue.Full:
				out = append(out, visitor(i))
			default:
				s.Fatalf("visitor %d: %+v", i, a)
			}
		}
		is(s, "refused", len(out), 50)
		for _, v := range in[:30] {
			s.end(queue.Leave, v)
		}
		s.clock.Add(61 * time.Second)
		s.hear(in[50:]...)
		s.clock.Add(61 * time.Second)
		s.run(35*time.Second, time.Second) // 20 have been silent
		s.sizes(50, 0)
		for i, a := range s.join(out...) {
			is(s, "a retry", a.Outcome, queue.Waiting)
			is(s, "at the end", a.Position, int64(51+i))
		}
		is(s, "full again", s.join(visitor(1000))[0].Outcome, queue.Full)
	}},
	{"a ticket brings a place back before those who came later", func(s *stand) { // place-keeps
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.switchTo(queue.Activate)
		a := s.join(visitor(1))[0]
		t := s.ticket(a)
		s.clock.Add(121 * time.Second)
		s.fill(2, 3)
		s.run(35*time.Second, time.Second)
		s.sizes(3, 0)
		back := s.comeBack(visitor(1), t)
		is(s, "outcome", back.Outcome, queue.Waiting)
		is(s, "returned", back.Returned, true)
		is(s, "score", back.Score, a.Score)
		is(s, "position", back.Position, 1)
		is(s, "the next one's position", s.poll(visitor(2)).Position, 2)
		c := s.look().Counts
		is(s, "returned", c.Returned, 1)
		is(s, "restored", c.Restored, 0)
		is(s, "abandoned", c.Abandoned, 1)
	}},
	{"an older ticket moves a place forward, a newer one nowhere", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.switchTo(queue.Activate)
		a := s.join(visitor(1))[0]
		t := s.ticket(a)
		s.clock.Add(121 * time.Second)
		s.fill(2, 3)
		s.run(35*time.Second, time.Second)
		again := s.join(visitor(1))[0] // on a device that has no ticket
		is(s, "at the end", again.Position, 4)
		later := t
		later.Score = again.Score + 5_000_000
		is(s, "a newer ticket", s.comeBack(visitor(1), later).Position, 4)
		is(s, "the older ticket", s.comeBack(visitor(1), t).Position, 1)
		is(s, "score", s.poll(visitor(1)).Score, a.Score)
		s.sizes(4, 0)
	}},
	{"a ticket of another generation gives no place", func(s *stand) { // own-token
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		s.end(queue.Leave, visitor(2))
		t.Generation--
		is(s, "older", s.comeBack(visitor(3), t).Outcome, queue.NoPlace)
		t.Generation += 2
		is(s, "newer", s.comeBack(visitor(3), t).Outcome, queue.NoPlace)
	}},
	{"leaving ends place and ticket, and twice is once", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		is(s, "was waiting", s.end(queue.Leave, visitor(1)).WasWaiting, true)
		is(s, "twice", s.end(queue.Leave, visitor(1)).WasWaiting, false)
		is(s, "left", s.look().Counts.Left, 1)
		is(s, "the ticket", s.comeBack(visitor(1), t).Outcome, queue.NoPlace)
		s.clock.Add(time.Second)
		s.fill(2, 1)
		a := s.join(visitor(1))[0]
		is(s, "a new place is at the end", a.Position, 2)
		is(s, "the ticket of before moves nobody", s.comeBack(visitor(1), t).Position, 2)
		t = s.ticket(a)
		s.clock.Add(121 * time.Second)
		s.run(35*time.Second, time.Second)
		is(s, "the new ticket", s.comeBack(visitor(1), t).Returned, true)
	}},
	{"a mark stands also when there was nothing to end", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		s.clock.Add(121 * time.Second)
		s.run(35*time.Second, time.Second)
		s.sizes(0, 0)
		is(s, "was waiting", s.end(queue.Leave, visitor(1)).WasWaiting, false)
		is(s, "the ticket", s.comeBack(visitor(1), t).Outcome, queue.NoPlace)
	}},
	{"revoking ends a place", func(s *stand) {
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		r := s.end(queue.Revoke, visitor(1))
		is(s, "was waiting", r.WasWaiting, true)
		is(s, "was running", r.WasRunning, false)
		is(s, "the ticket", s.comeBack(visitor(1), t).Outcome, queue.NoPlace)
		is(s, "left", s.look().Counts.Left, 1)
	}},
	{"the silent leave the line and nobody else does", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.switchTo(queue.Activate)
		vs := s.fill(1, 700)
		silent := 0
		for range 8 {
			s.clock.Add(15 * time.Second)
			var heard []queue.Visitor
			for i, v := range vs {
				if i%7 != 0 {
					heard = append(heard, v)
				}
			}
			silent = len(vs) - len(heard)
			s.hear(heard...)
			s.step()
		}
		is(s, "nobody has left after exactly the abandon time", s.look().Counts.Waiting, 700)
		s.run(35*time.Second, time.Second)
		s.sizes(int64(700-silent), 0)
		is(s, "abandoned", s.look().Counts.Abandoned, int64(silent))
		is(s, "reported missing", len(s.hear(vs[0], vs[1], vs[7])), 2)
		is(s, "position", s.poll(vs[1]).Position, 1)
	}},
	{"the head is who is next, in order, and nobody who has gone", func(s *stand) {
		s.switchTo(queue.Activate)
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.step()
		vs := visitors(1, 50)
		answers := s.join(vs...)
		_, err := s.line.End(s.ctx, s.item, queue.Ending{Kind: queue.Leave, Visitor: vs[3]})
		s.must(err)
		head, err := s.line.Head(s.ctx, s.item, 20)
		s.must(err)
		is(s, "waiting", head.Waiting, 49)
		is(s, "scores", len(head.Scores), 20)
		is(s, "position of the third", head.Position(answers[2].Score), 3)
		is(s, "position of who has left", head.Position(answers[3].Score), 0)
		is(s, "position of the fifth", head.Position(answers[4].Score), 4)
		is(s, "position of one behind the head", head.Position(answers[30].Score), 0)
		whole, err := s.line.Head(s.ctx, s.item, 2000)
		s.must(err)
		is(s, "scores of all", len(whole.Scores), 49)
		nobody, err := s.line.Head(s.ctx, s.item+"-none", 20)
		s.must(err)
		is(s, "scores of no line", len(nobody.Scores), 0)
	}},
	{"positions are exact near the head and within 1 % behind it", func(s *stand) {
		s.switchTo(queue.Activate)
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.step()
		vs := visitors(1, 3000)
		var answers []queue.Answer
		for part := range slices.Chunk(vs, 100) {
			s.clock.Add(time.Duration(len(answers)%700) * time.Millisecond)
			answers = append(answers, s.join(part...)...)
		}
		table, err := s.line.Positions(s.ctx, s.item)
		s.must(err)
		is(s, "waiting", table.Waiting, 3000)
		if table.Exact < 200 {
			s.Fatalf("exact up to %d, want at least 200", table.Exact)
		}
		for i, a := range answers {
			rank, exact := table.Position(a.Score)
			if off := rank - int64(i+1); exact && off != 0 || off*off*10000 > int64((i+1)*(i+1)) {
				s.Fatalf("position of the %dth: %d (exact %v)", i+1, rank, exact)
			}
		}
	}},
}
