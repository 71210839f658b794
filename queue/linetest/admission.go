package linetest

import (
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/queue"
)

var admission = []test{
	{"people are let in in the order of the line", func(s *stand) { // arrival-order
		s.switchTo(queue.Activate)
		vs := s.fill(1, 100)
		in := s.run(20*time.Second, 250*time.Millisecond)
		if !slices.Equal(names(in), vs) {
			s.Fatalf("let in: %v", names(in))
		}
		s.sizes(0, 100)
		is(s, "their score", in[0].Score < in[1].Score, true)
	}},
	{"a newcomer who finds an open, empty line and a token is let in at once", func(s *stand) {
		s.switchTo(queue.Activate)
		is(s, "the bucket is empty at first", s.join(visitor(1))[0].Outcome, queue.Waiting)
		s.run(time.Second, 250*time.Millisecond)
		a := s.join(visitor(2))[0]
		is(s, "outcome", a.Outcome, queue.Inside)
		is(s, "new", a.New, true)
		is(s, "kind", a.Admission.Kind, queue.Let)
		is(s, "claimed", a.Admission.ClaimedMS > 0, true)
		is(s, "the first waits no longer", s.poll(visitor(1)).Outcome, queue.Inside)
		c := s.look().Counts
		is(s, "joined", c.Joined, 2)
		is(s, "admitted", c.Admitted, 2)
		for i := range 20 {
			s.join(visitor(10 + i))
		}
		c = s.look().Counts
		if c.Running > 12 || c.Waiting < 10 {
			s.Fatalf("more were let in than there were tokens: %+v", c)
		}
	}},
	{"nobody is let in at once while somebody waits, or it is not open", func(s *stand) {
		s.switchTo(queue.Activate)
		s.fill(1, 1)
		s.clock.Add(time.Second)
		is(s, "behind another", s.join(visitor(2))[0].Outcome, queue.Waiting)
		s.run(time.Second, time.Second)
		s.switchTo(queue.Pause)
		s.clock.Add(time.Second)
		is(s, "paused", s.join(visitor(3))[0].Outcome, queue.Waiting)
	}},
	{"200 claims at once get one and the same pass", func(s *stand) { // B082
		s.switchTo(queue.Activate)
		s.fill(1, 1)
		s.run(time.Second, time.Second)
		var wg sync.WaitGroup
		got := make([]queue.Answer, 200)
		for i := range got {
			wg.Go(func() {
				r, err := s.line.Ask(s.ctx, s.item, []queue.Ask{{Visitor: visitor(1), Create: i%2 == 0}})
				if err != nil {
					s.Error(err)
					return
				}
				got[i] = r.Answers[0]
			})
		}
		wg.Wait()
		for _, a := range got {
			is(s, "outcome", a.Outcome, queue.Inside)
			is(s, "pass", pass(a.Admission), pass(got[0].Admission))
		}
		is(s, "issued", got[0].Admission.IssuedMS, s.nowMS()/1000*1000)
		is(s, "ends", got[0].Admission.PassEndsMS, got[0].Admission.IssuedMS+300_000)
		s.sizes(0, 1)
		is(s, "admitted", s.look().Counts.Admitted, 1)
		at, err := s.line.Find(s.ctx, s.item, visitor(1))
		s.must(err)
		is(s, "requests seen", at.Admission.Requests, 200) // B083
	}},
	{"a peek does not claim", func(s *stand) {
		s.switchTo(queue.Activate)
		s.fill(1, 1)
		s.run(time.Second, time.Second)
		a := s.ask(queue.Ask{Visitor: visitor(1), Peek: true})
		is(s, "outcome", a.Outcome, queue.Inside)
		is(s, "claimed", a.Admission.ClaimedMS, 0)
		is(s, "found", s.find(visitor(1)).Admission.ClaimedMS, 0)
		s.clock.Add(121 * time.Second)
		is(s, "past its time", s.ask(queue.Ask{Visitor: visitor(1), Peek: true}).Outcome, queue.NoPlace)
		is(s, "no-shows", s.step().NoShow, 1)
	}},
	{"who does not claim in time gives the slot back and stands at the head again", func(s *stand) { // B004
		s.set(func(l *queue.Limits) { l.ClaimMS, l.MaxActive = 10_000, 1 })
		s.switchTo(queue.Activate)
		a := s.join(visitor(1))[0]
		t := s.ticket(a)
		s.fill(2, 2)
		s.run(time.Second, 250*time.Millisecond)
		is(s, "A is let in", s.find(visitor(1)).Outcome, queue.Inside)
		s.run(10*time.Second, 250*time.Millisecond)
		is(s, "B is let in", s.poll(visitor(2)).Outcome, queue.Inside)
		s.run(4*time.Second, 250*time.Millisecond)
		is(s, "A has no place", s.poll(visitor(1)).Outcome, queue.NoPlace)
		back := s.comeBack(visitor(1), t)
		is(s, "A is back", back.Outcome, queue.Waiting)
		is(s, "at the head", back.Position, 1)
		is(s, "at the old score", back.Score, a.Score)
		check := s.ask(queue.Ask{Visitor: visitor(1), Ticket: &t, Create: true})
		is(s, "check too", check.Position, 1)
		s.sizes(2, 1)
		is(s, "no-shows", s.look().Counts.NoShow, 1)
	}},
	{"an ask after the claim time ends the stay as a step would", func(s *stand) {
		s.set(func(l *queue.Limits) { l.ClaimMS = 10_000 })
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		s.run(time.Second, time.Second)
		s.clock.Add(10 * time.Second) // no step meanwhile
		is(s, "outcome", s.comeBack(visitor(1), t).Returned, true)
		is(s, "no-shows", s.look().Counts.NoShow, 1)
		s.sizes(1, 0)
	}},
	{"an unclaimed admission is given back once, also where the claim time is longer than the session", func(s *stand) { // B131
		s.set(func(l *queue.Limits) {
			l.ClaimMS, l.SessionMS, l.AbandonMS, l.ReturnMS = 3_600_000, 30_000, 86_400_000, 0
		})
		s.switchTo(queue.Activate)
		s.fill(1, 1)
		s.run(time.Second, time.Second)
		s.run(3_598*time.Second, 10*time.Second)
		s.sizes(0, 1)
		s.run(200*time.Second, 10*time.Second)
		s.sizes(0, 0)
		c := s.look().Counts
		is(s, "no-shows", c.NoShow, 1)
		is(s, "admitted", c.Admitted, 1)
	}},
	{"those who left without a word use up no slots", func(s *stand) { // B001
		s.set(func(l *queue.Limits) {
			l.MaxActive, l.Inflow, l.ClaimMS, l.AbandonMS, l.SessionMS = 10, 100, 10_000, 30_000, 30_000
		})
		s.switchTo(queue.Activate)
		vs := s.fill(1, 30)
		s.run(time.Second, 250*time.Millisecond)
		for _, v := range vs[:10] {
			is(s, "1 to 10", s.poll(v).Outcome, queue.Inside)
			s.end(queue.Finish, v)
		}
		late := vs[20:]
		in := 0
		for range 13 * 4 { // 11 to 20 are let in and never come
			in += len(s.run(250*time.Millisecond, 250*time.Millisecond))
			if c := s.look().Counts; c.Running > 10 {
				s.Fatalf("room-limit: %d inside", c.Running)
			}
			for _, v := range late {
				s.poll(v)
			}
		}
		is(s, "let in", in, 20)
		for _, v := range late {
			is(s, "21 to 30", s.poll(v).Outcome, queue.Inside)
		}
		s.sizes(0, 10)
		is(s, "no-shows", s.look().Counts.NoShow, 10)
	}},
	{"the silent are passed over and use up no token", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow, l.AbandonMS = 1, 30_000 })
		s.switchTo(queue.Activate)
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.step()
		vs := s.fill(1, 50)
		s.clock.Add(25 * time.Second)
		s.hear(vs[40:]...)
		s.clock.Add(6 * time.Second)
		s.set(func(l *queue.Limits) { l.Inflow = 1 })
		s.step() // from here on the bucket fills
		in := s.run(2*time.Second, time.Second)
		if !slices.Equal(names(in), vs[40:42]) {
			s.Fatalf("let in %v, want the first two that are there", names(in))
		}
		is(s, "abandoned", s.look().Counts.Abandoned, 40)
	}},
	{"the counts are those of the sets", func(s *stand) { // B002
		s.set(func(l *queue.Limits) { l.ClaimMS, l.Inflow = 10_000, 0 })
		s.switchTo(queue.Activate)
		vs := s.fill(1, 6)
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 4})
		s.step()
		s.asks(queue.Ask{Visitor: vs[0]}, queue.Ask{Visitor: vs[1]})
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 2})
		s.step()
		s.asks(queue.Ask{Visitor: vs[4]}, queue.Ask{Visitor: vs[5]})
		s.run(12*time.Second, 250*time.Millisecond)
		s.sizes(0, 4)
		for _, v := range vs[2:4] {
			is(s, "a lapsed one", s.poll(v).Outcome, queue.NoPlace)
		}
		s.sizes(0, 4)
	}},
}
