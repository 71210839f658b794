package linetest

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

// inside lets one visitor in and claims.
func (s *stand) inside(v queue.Visitor) queue.Admission {
	s.Helper()
	s.join(v)
	s.run(time.Second, time.Second)
	a := s.poll(v)
	is(s, "outcome", a.Outcome, queue.Inside)
	return a.Admission
}

// pass is what of a stay goes into the pass, and so must not change from one answer to the next.
func pass(a queue.Admission) queue.Admission {
	a.Requests = 0
	return a
}

var stays = []test{
	{"a pass stays the same for a while and is then renewed", func(s *stand) { // B007
		s.set(func(l *queue.Limits) { l.SessionMS, l.ClaimMS = 60_000, 60_000 })
		s.switchTo(queue.Activate)
		first := s.inside(visitor(1))
		s.run(50*time.Second, 10*time.Second)
		is(s, "50 s after the claim", pass(s.poll(visitor(1)).Admission), pass(first))
		s.run(10*time.Second, 10*time.Second)
		second := s.poll(visitor(1)).Admission
		is(s, "60 s after", second.IssuedMS, first.IssuedMS+60_000)
		is(s, "its end", second.PassEndsMS, second.IssuedMS+60_000)
		is(s, "claimed", second.ClaimedMS, first.ClaimedMS)
		s.run(5*time.Second, time.Second)
		is(s, "within a tenth of the session", pass(s.poll(visitor(1)).Admission), pass(second))
		s.run(time.Second, time.Second)
		is(s, "after a tenth", s.poll(visitor(1)).Admission.IssuedMS, second.IssuedMS+6_000)
		s.sizes(0, 1)
	}},
	{"without renewal a session ends a fixed time after the claim", func(s *stand) {
		s.set(func(l *queue.Limits) { l.SessionRenewal, l.SessionMS = false, 100_000 })
		s.switchTo(queue.Activate)
		first := s.inside(visitor(1))
		for range 20 {
			s.run(5*time.Second, 5*time.Second)
			is(s, "the pass", pass(s.poll(visitor(1)).Admission), pass(first))
		}
		s.run(6*time.Second, time.Second)
		is(s, "afterwards", s.poll(visitor(1)).Outcome, queue.NoPlace)
		is(s, "finished", s.look().Counts.Finished, 1)
	}},
	{"the slot is held until the pass is accepted no more", func(s *stand) { // B080
		s.switchTo(queue.Activate)
		a := s.inside(visitor(1))
		s.clock.Set(time.UnixMilli(a.PassEndsMS + 4_999))
		s.step()
		s.sizes(0, 1)
		s.run(time.Millisecond, time.Millisecond)
		s.sizes(0, 0)
		is(s, "finished", s.look().Counts.Finished, 1)
	}},
	{"passes seen elsewhere keep a session alive", func(s *stand) { // B100
		s.switchTo(queue.Activate)
		s.inside(visitor(1))
		gen := s.look().Header.Generation
		for range 30 {
			s.run(240*time.Second, 60*time.Second)
			issued := s.nowMS() / 1000 * 1000
			is(s, "ended", s.renew(visitor(1), gen, issued, issued+300_000), false)
			is(s, "repeated", s.renew(visitor(1), gen, issued, issued+300_000), false)
			s.sizes(0, 1)
			is(s, "the newest pass", s.find(visitor(1)).Admission.IssuedMS, issued)
		}
		s.run(310*time.Second, 10*time.Second)
		s.sizes(0, 0)
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.step()
		s.fill(2, 5)
		is(s, "after a gap", s.join(visitor(1))[0].Position, 6)
	}},
	{"an older pass takes nothing from a newer one", func(s *stand) {
		s.switchTo(queue.Activate)
		a := s.inside(visitor(1))
		gen := s.look().Header.Generation
		is(s, "ended", s.renew(visitor(1), gen, a.IssuedMS-100_000, a.PassEndsMS-100_000), false)
		is(s, "issued", s.find(visitor(1)).Admission, a)
		s.clock.Set(time.UnixMilli(a.PassEndsMS))
		s.step()
		s.sizes(0, 1)
	}},
	{"finishing frees the slot and ends pass and ticket", func(s *stand) { // B005
		s.set(func(l *queue.Limits) { l.MaxActive = 1 })
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		s.fill(2, 1)
		s.run(time.Second, 250*time.Millisecond)
		a := s.poll(visitor(1)).Admission
		is(s, "B waits", s.poll(visitor(2)).Outcome, queue.Waiting)
		s.clock.Add(3 * time.Second)
		is(s, "was running", s.end(queue.Finish, visitor(1)).WasRunning, true)
		is(s, "the pass has ended", s.renew(visitor(1), t.Generation, a.IssuedMS, a.PassEndsMS), true)
		is(s, "the ticket has ended", s.comeBack(visitor(1), t).Outcome, queue.NoPlace)
		s.run(time.Second, 250*time.Millisecond)
		is(s, "B", s.poll(visitor(2)).Outcome, queue.Inside)
		is(s, "A checks", s.join(visitor(1))[0].Outcome, queue.Waiting)
		is(s, "twice", s.end(queue.Finish, visitor(1)).WasRunning, false)
		is(s, "finished", s.look().Counts.Finished, 1)
		s.sizes(1, 1)
	}},
	{"a pass that another node renewed before it heard of the end has ended too", func(s *stand) {
		gen := s.switchTo(queue.Activate).Header.Generation
		for i, kind := range []queue.EndKind{queue.Finish, queue.Revoke} {
			for j, later := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond, 2 * time.Second} {
				v := visitor(10*i + j)
				s.inside(v)
				s.clock.Set(s.clock.Now().Truncate(time.Second).Add(30*time.Second + 995*time.Millisecond))
				s.hear() // nobody
				a := s.find(v).Admission
				is(s, "was running", s.end(kind, v).WasRunning, true)
				s.clock.Add(later)
				// The other node shows the old pass, and has given one of this second in its place.
				fresh := s.nowMS() / 1000 * 1000
				is(s, "the pass shown", s.renew(v, gen, a.IssuedMS, fresh+300_000), true)
				s.clock.Add(100 * time.Millisecond)
				is(s, "the pass given for it", s.renew(v, gen, fresh, fresh+300_000), true)
				is(s, "the visitor", s.find(v).Outcome, queue.NoPlace)
			}
		}
	}},
	{"an ended pass takes nothing from who was let in again", func(s *stand) {
		gen := s.switchTo(queue.Activate).Header.Generation
		old := s.inside(visitor(1))
		s.clock.Add(3 * time.Second)
		s.end(queue.Finish, visitor(1))
		s.clock.Add(3 * time.Second)
		a := s.inside(visitor(1))
		s.clock.Add(time.Second)
		is(s, "the ended pass", s.renew(visitor(1), gen, old.IssuedMS, s.nowMS()+300_000), true)
		is(s, "the new pass", s.renew(visitor(1), gen, a.IssuedMS, a.PassEndsMS), false)
		is(s, "the visitor", s.find(visitor(1)).Outcome, queue.Inside)
	}},
	{"a pass given in the very second of an end holds", func(s *stand) {
		gen := s.switchTo(queue.Activate).Header.Generation
		for i, kind := range []queue.EndKind{queue.Finish, queue.Revoke} {
			v := visitor(i)
			s.inside(v)
			s.clock.Set(s.clock.Now().Truncate(time.Second).Add(10*time.Second + 800*time.Millisecond))
			s.end(kind, v)
			s.clock.Add(100 * time.Millisecond)
			s.step()
			a := s.join(v)[0]
			is(s, "outcome", a.Outcome, queue.Inside)
			is(s, "a whole second", a.Admission.IssuedMS%1000, 0)
			is(s, "ended", s.renew(v, gen, a.Admission.IssuedMS, a.Admission.PassEndsMS), false)
			s.clock.Add(29 * time.Second)
			is(s, "asked again, the same", pass(s.poll(v).Admission), pass(a.Admission))
		}
	}},
	{"revoking ends a session", func(s *stand) {
		s.switchTo(queue.Activate)
		a := s.inside(visitor(1))
		gen := s.look().Header.Generation
		s.clock.Add(time.Second)
		r := s.end(queue.Revoke, visitor(1))
		is(s, "was running", r.WasRunning, true)
		is(s, "the pass has ended", s.renew(visitor(1), gen, a.IssuedMS, a.PassEndsMS), true)
		is(s, "revoked", s.look().Counts.Revoked, 1)
		s.sizes(0, 0)
	}},
	{"the place's ticket has no power once it was claimed", func(s *stand) {
		s.set(func(l *queue.Limits) { l.SessionMS = 30_000 })
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		s.run(time.Second, time.Second)
		s.poll(visitor(1))
		s.run(36*time.Second, time.Second)
		s.sizes(0, 0)
		is(s, "the ticket", s.comeBack(visitor(1), t).Outcome, queue.NoPlace)
	}},
	{"who was inside when the queue turned on goes on passing", func(s *stand) { // grace
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		mark := s.nowMS() - 100_000
		s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector, Reserved: 5})
		is(s, "reserved", s.look().Counts.Reserved, 5)
		for name, m := range map[string]int64{"no mark": 0, "an old mark": s.nowMS() - 300_000, "a mark from after": s.nowMS() + 1} {
			is(s, name, s.ask(queue.Ask{Visitor: visitor(1), MarkMS: m}).Outcome, queue.NoPlace)
		}
		is(s, "a peek", s.ask(queue.Ask{Visitor: visitor(1), MarkMS: mark, Peek: true}).Outcome, queue.NoPlace)
		a := s.ask(queue.Ask{Visitor: visitor(1), MarkMS: mark})
		is(s, "outcome", a.Outcome, queue.Inside)
		is(s, "kind", a.Admission.Kind, queue.Graced)
		is(s, "new", a.New, false)
		is(s, "reserved", s.look().Counts.Reserved, 4)
		is(s, "carried", s.look().Counts.Carried, 1)
		s.clock.Add(199 * time.Second)
		is(s, "the last moment", s.ask(queue.Ask{Visitor: visitor(2), MarkMS: mark}).Outcome, queue.Inside)
		s.clock.Add(time.Second)
		is(s, "a session after the mark", s.ask(queue.Ask{Visitor: visitor(3), MarkMS: mark}).Outcome, queue.NoPlace)
	}},
	{"who has finished is not graced by an older mark", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		mark := s.nowMS() - 1000
		s.switchTo(queue.Activate)
		s.end(queue.Finish, visitor(1))
		is(s, "outcome", s.ask(queue.Ask{Visitor: visitor(1), MarkMS: mark, Create: true}).Outcome, queue.Waiting)
	}},
	{"a sale gives no grace, and ends the passes of before", func(s *stand) {
		gen := s.switchTo(queue.Activate).Header.Generation
		a := s.inside(visitor(1))
		s.switchTo(queue.Deactivate)
		h := s.order(queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale, By: "friday", OpensMS: s.nowMS() + 60_000}).Header
		is(s, "passes from", h.PassesFrom, h.Generation)
		is(s, "grace", h.Grace, false)
		is(s, "opens", h.OpensMS, s.nowMS()+60_000)
		is(s, "the pass has ended", s.renew(visitor(1), gen, a.IssuedMS, a.PassEndsMS), true)
		is(s, "a mark", s.ask(queue.Ask{Visitor: visitor(1), MarkMS: s.nowMS() - 1000, Create: true}).Outcome, queue.Waiting)
	}},
	{"a pass of an earlier generation is carried, out of the line and into running", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		now := s.nowMS()
		gen := s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByOperator, Reserved: 2}).Header.Generation
		t := s.ticket(s.join(visitor(1))[0])
		is(s, "ended", s.renew(visitor(1), gen-5, now-10_000, now+290_000), false)
		is(s, "outcome", s.find(visitor(1)).Outcome, queue.Inside)
		is(s, "kind", s.find(visitor(1)).Admission.Kind, queue.Carried)
		c := s.look().Counts
		is(s, "carried", c.Carried, 1)
		is(s, "left", c.Left, 1)
		is(s, "reserved", c.Reserved, 1)
		s.sizes(0, 1)
		is(s, "a pass that is over", s.renew(visitor(2), gen, now-400_000, now-100_000), false)
		is(s, "carries nobody", s.find(visitor(2)).Outcome, queue.NoPlace)
		s.run(300*time.Second, 10*time.Second)
		s.sizes(0, 0)
		is(s, "the place's ticket has ended", s.comeBack(visitor(1), t).Outcome, queue.NoPlace)
	}},
	{"nothing is missing or ended while the queue is off", func(s *stand) {
		gen := s.switchTo(queue.Activate).Header.Generation
		a := s.inside(visitor(1))
		s.end(queue.Finish, visitor(1))
		s.switchTo(queue.Deactivate)
		is(s, "missing", len(s.hear(visitor(1))), 0)
		is(s, "ended", s.renew(visitor(1), gen, a.IssuedMS, a.PassEndsMS), false)
	}},
}
