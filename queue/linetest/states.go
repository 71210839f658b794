package linetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// reach brings the stand's item into a state.
func (s *stand) reach(st queue.State) {
	s.Helper()
	switch st {
	case queue.Prequeue:
		s.gather()
	case queue.Open:
		s.switchTo(queue.Activate)
	case queue.Paused:
		s.switchTo(queue.Activate)
		s.switchTo(queue.Pause)
	case queue.Closed:
		s.switchTo(queue.Close)
	}
	is(s, "state", s.look().Header.State, st)
}

var actions = []queue.Action{
	queue.Activate, queue.Deactivate, queue.Drain, queue.Close, queue.Pause, queue.Resume, queue.Admit,
	queue.SetInflow, queue.Reset, queue.Gather,
}

var states = []test{
	{"every action leads from every state to where State.Next says, and no further when repeated", func(s *stand) {
		five := 5.
		for _, st := range []queue.State{queue.Off, queue.Prequeue, queue.Open, queue.Paused, queue.Closed} {
			for _, a := range actions {
				s.item = queue.Item(fmt.Sprintf("sku-%s-%s", st, a))
				s.reach(st)
				before := s.look().Header
				o := queue.SwitchOrder{Action: a, Cause: queue.ByOperator, By: "kim", Limits: s.limits, Count: 1, Inflow: &five, OpensMS: before.OpensMS}
				to, changes, wrong := st.Next(a, false)
				r, err := s.line.Switch(s.ctx, s.item, o)
				if wrong != nil {
					if !errors.Is(err, queue.ErrWrongState) {
						s.Errorf("%s from %s: %v, want ErrWrongState", a, st, err)
					}
					is(s, "refused, and the state", s.look().Header.State, st)
					continue
				}
				s.must(err)
				if r.Header.State != to || r.Changed != changes || r.Before.State != st {
					s.Errorf("%s from %s (before %s): %s, changed %v; want %s, %v", a, st, r.Before.State, r.Header.State, r.Changed, to, changes)
				}
				headerChanged := changes && a != queue.Admit
				if newer := r.Header.Version > before.Version; newer != headerChanged {
					s.Errorf("%s from %s: version %d after %d", a, st, r.Header.Version, before.Version)
				}
				if again, _, wrong := to.Next(a, a == queue.Drain); wrong == nil && a != queue.Admit && a != queue.Reset {
					r, err := s.line.Switch(s.ctx, s.item, o)
					s.must(err)
					if r.Changed || r.Header.State != again {
						s.Errorf("%s twice from %s: %s, changed %v", a, st, r.Header.State, r.Changed)
					}
				}
			}
		}
	}},
	{"every activation is a new generation, and versions only rise", func(s *stand) { // B154, one-activation
		var last queue.Header
		for range 20 {
			h := s.switchTo(queue.Activate).Header
			if h.Generation <= last.Generation || h.Version <= last.Version || h.Epoch == last.Epoch {
				s.Fatalf("%+v after %+v", h, last)
			}
			is(s, "by", h.By, "kim")
			is(s, "passes from", h.PassesFrom, 0)
			s.join(visitor(1))
			last = s.switchTo(queue.Deactivate).Header
			is(s, "generation", last.Generation, h.Generation)
			s.sizes(0, 0)
		}
	}},
	{"activating twice is one activation", func(s *stand) { // one-activation
		h := s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector, By: "requests"}).Header
		s.clock.Add(3 * time.Second)
		r := s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector, By: "requests"})
		is(s, "changed", r.Changed, false)
		is(s, "generation", r.Header.Generation, h.Generation)
		is(s, "version", r.Header.Version, h.Version)
	}},
	{"an operator pins a queue that the detector turned on", func(s *stand) {
		h := s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector, By: "requests"}).Header
		r := s.switchTo(queue.Activate)
		is(s, "changed", r.Changed, true)
		is(s, "generation", r.Header.Generation, h.Generation)
		is(s, "cause", r.Header.Cause, queue.ByOperator)
		is(s, "twice", s.switchTo(queue.Activate).Changed, false)
		s.run(120*time.Second, 5*time.Second)
		is(s, "state", s.look().Header.State, queue.Open)
	}},
	{"deactivating lets everybody pass", func(s *stand) {
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		s.fill(2, 10)
		s.run(time.Second, 250*time.Millisecond)
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 5})
		r := s.switchTo(queue.Deactivate)
		is(s, "left", r.Left, 1)
		is(s, "outcome", s.comeBack(visitor(1), t).Outcome, queue.NoQueue)
		s.balanced()
		s.sizes(0, 0)
		is(s, "missing", s.stepOnce().Missing, false)
		s.switchTo(queue.Activate)
		is(s, "debt", s.look().Debt, 0)
		is(s, "an older ticket", s.comeBack(visitor(1), t).Outcome, queue.NoPlace)
	}},
	{"a drained queue serves its line and goes off", func(s *stand) {
		s.set(patient)
		s.switchTo(queue.Activate)
		t := s.ticket(s.join(visitor(1))[0])
		s.fill(2, 24)
		h := s.switchTo(queue.Drain).Header
		is(s, "draining", h.Draining, true)
		is(s, "state", h.State, queue.Open)
		is(s, "a newcomer", s.join(visitor(100))[0].Outcome, queue.NotOpen)
		is(s, "one in line", s.comeBack(visitor(1), t).Outcome, queue.Waiting)
		s.switchTo(queue.Pause)
		is(s, "paused", len(s.run(time.Second, time.Second)), 0)
		is(s, "still refused", s.join(visitor(100))[0].Outcome, queue.NotOpen)
		s.switchTo(queue.Resume)
		s.run(2*time.Second, 250*time.Millisecond)
		s.clock.Add(time.Second)
		r := s.step()
		is(s, "let in", len(r.Admitted), 5)
		is(s, "released", r.Released, true)
		is(s, "reason", r.Reason, "drained")
		is(s, "state", r.Header.State, queue.Off)
		is(s, "a newcomer", s.join(visitor(100))[0].Outcome, queue.NoQueue)
		is(s, "released twice", s.step().Released, false)
	}},
	{"a closed queue refuses everybody, and passes hold", func(s *stand) {
		s.switchTo(queue.Activate)
		s.inside(visitor(1))
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.step()
		t := s.ticket(s.join(visitor(2))[0])
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 0})
		r := s.switchTo(queue.Close)
		is(s, "left", r.Left, 1)
		is(s, "state", r.Header.State, queue.Closed)
		is(s, "one inside", s.poll(visitor(1)).Outcome, queue.Inside)
		is(s, "one from the line", s.comeBack(visitor(2), t).Outcome, queue.NotOpen)
		is(s, "a newcomer", s.join(visitor(3))[0].Outcome, queue.NotOpen)
		s.run(310*time.Second, 10*time.Second)
		s.sizes(0, 0)
		is(s, "it stays closed", s.look().Header.State, queue.Closed)
	}},
	{"a reset ends line, tickets, passes and what was set by hand", func(s *stand) {
		ten := 7.
		mark := s.nowMS() - 1000
		s.switchTo(queue.Activate)
		a := s.inside(visitor(1))
		t := s.ticket(s.fillOne(visitor(2)))
		s.order(queue.SwitchOrder{Action: queue.SetInflow, Inflow: &ten})
		before := s.look().Header
		r := s.switchTo(queue.Reset)
		is(s, "left", r.Left, 1)
		is(s, "a new generation", r.Header.Generation > before.Generation, true)
		is(s, "passes from", r.Header.PassesFrom, r.Header.Generation)
		is(s, "state", r.Header.State, queue.Open)
		is(s, "override", r.Header.Override == nil, true)
		is(s, "inflow", r.Header.Inflow, s.limits.Inflow)
		is(s, "books", r.Counts, queue.Counts{})
		is(s, "the pass", s.renew(visitor(1), before.Generation, a.IssuedMS, a.PassEndsMS), true)
		is(s, "the ticket", s.comeBack(visitor(2), t).Outcome, queue.NoPlace)
		is(s, "a mark from before", s.ask(queue.Ask{Visitor: visitor(3), MarkMS: mark}).Outcome, queue.NoPlace)
		is(s, "one who was inside", s.join(visitor(1))[0].Outcome, queue.Waiting)
	}},
	{"a key makes admit and reset take effect once", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.switchTo(queue.Activate)
		s.fill(1, 10)
		for i := range 3 {
			r := s.order(queue.SwitchOrder{Action: queue.Admit, Count: 2, Key: "a"})
			is(s, "changed", r.Changed, i == 0)
		}
		is(s, "another key", s.order(queue.SwitchOrder{Action: queue.Admit, Count: 2, Key: "b"}).Changed, true)
		is(s, "let in", len(s.step().Admitted), 4)
		gen := s.order(queue.SwitchOrder{Action: queue.Reset, Key: "c"}).Header.Generation
		s.clock.Add(5 * time.Second)
		r := s.order(queue.SwitchOrder{Action: queue.Reset, Key: "c"})
		is(s, "generation", r.Header.Generation, gen)
		is(s, "changed", r.Changed, false)
	}},
	{"a queue that turned on by itself is released once it is quiet", func(s *stand) { // B127
		s.set(patient)
		s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector, By: "requests"})
		s.fill(1, 20)
		in := 0
		for in < 20 {
			s.clock.Add(time.Second)
			r := s.step()
			in += len(r.Admitted)
			is(s, "released", r.Released, false)
		}
		for range 59 {
			s.clock.Add(time.Second)
			is(s, "released", s.step().Released, false)
		}
		s.clock.Add(time.Second)
		r := s.step()
		is(s, "released", r.Released, true)
		is(s, "reason", r.Reason, "released")
		is(s, "outcome", s.poll(visitor(1)).Outcome, queue.NoQueue)
	}},
	{"whoever waits begins the quiet time anew", func(s *stand) {
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 1 })
		s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector, By: "requests"})
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.run(50*time.Second, time.Second)
		s.fill(1, 1)
		s.end(queue.Leave, visitor(1)) // gone before any step saw it
		s.run(59*time.Second, time.Second)
		is(s, "state", s.look().Header.State, queue.Open)
		s.run(2*time.Second, time.Second)
		is(s, "state", s.look().Header.State, queue.Off)
	}},
	{"what a hand, a sale or a fixed mode turned on stays on", func(s *stand) {
		for _, cause := range []queue.Cause{queue.ByOperator, queue.BySale, queue.ByMode} {
			s.item = queue.Item("sku-" + cause)
			s.set(func(l *queue.Limits) { l.Auto = cause != queue.ByMode })
			s.order(queue.SwitchOrder{Action: queue.Activate, Cause: cause})
			s.run(300*time.Second, 10*time.Second)
			is(s, string(cause), s.look().Header.State, queue.Open)
		}
		s.set(func(l *queue.Limits) { l.Auto = true }) // the mode is no longer "on"
		s.run(70*time.Second, 10*time.Second)
		is(s, "mode", s.look().Header.State, queue.Off)
	}},
	{"the ways of pause, inflow and prequeue that change nothing say so", func(s *stand) {
		five := 5.
		s.switchTo(queue.Activate)
		is(s, "inflow", s.order(queue.SwitchOrder{Action: queue.SetInflow, Inflow: &five}).Changed, true)
		is(s, "the same again", s.order(queue.SwitchOrder{Action: queue.SetInflow, Inflow: &five}).Changed, false)
		is(s, "back", s.order(queue.SwitchOrder{Action: queue.SetInflow}).Changed, true)
		is(s, "back again", s.order(queue.SwitchOrder{Action: queue.SetInflow}).Changed, false)
		s.fill(1, 3)
		is(s, "a sale begins on a line that is there", s.order(queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale}).Changed, false)
		s.sizes(3, 0)
	}},
}

// fillOne has one visitor wait.
func (s *stand) fillOne(v queue.Visitor) queue.Answer {
	s.Helper()
	s.set(func(l *queue.Limits) { l.Inflow = 0 })
	s.step()
	a := s.join(v)[0]
	is(s, "outcome", a.Outcome, queue.Waiting)
	return a
}
