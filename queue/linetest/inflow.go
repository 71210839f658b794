package linetest

import (
	"math"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// patient makes limits under which nobody is silent and no admission lapses while a test goes on.
func patient(l *queue.Limits) { l.AbandonMS, l.ClaimMS = 86_400_000, 3_600_000 }

// instants are the times, in ms since the start, at which people were let in.
type instants []int64

// runTimed lets d pass as run does, and notes when people were let in.
func (s *stand) runTimed(d, every time.Duration) (at instants) {
	s.Helper()
	start := s.nowMS()
	for ; d > 0; d -= every {
		for range s.run(min(d, every), every) {
			at = append(at, s.nowMS()-start)
		}
	}
	return at
}

// exact checks invariant exact-inflow: in every span of time at most inflow × span + one second's worth + one.
func (s *stand) exact(at instants, perSecond float64) {
	s.Helper()
	for i := range at {
		for j := i; j < len(at); j++ {
			most := perSecond*float64(at[j]-at[i])/1000 + perSecond + 1
			if n := j - i + 1; float64(n) > most+1e-6 {
				s.Fatalf("exact-inflow: %d in %d ms, want at most %.2f", n, at[j]-at[i], most)
			}
		}
	}
}

var inflow = []test{
	{"fractions of a person a second add up", func(s *stand) { // B143
		for i, rate := range []float64{0.1, 0.5, 1. / 3, 0.9999999, 2.5, 1000.1} {
			s.item = queue.Item(visitor(i)) // an item each
			s.set(func(l *queue.Limits) { patient(l); l.Inflow = rate })
			s.switchTo(queue.Activate)
			d := 600 * time.Second
			if rate > 100 && !long {
				d = 10 * time.Second
			}
			due := math.Floor(rate * d.Seconds())
			s.fill(1, int(due)+10)
			var at instants
			for left, k := d, 0; left > 0; k++ { // two movers, out of step
				every := min(left, []time.Duration{130, 370}[k%2]*time.Millisecond)
				left -= every
				for range s.run(every, every) {
					at = append(at, (d - left).Milliseconds())
				}
			}
			if n := float64(len(at)); math.Abs(n-due) > 1 {
				s.Errorf("%g a second: %g in %s, want %g", rate, n, d, due)
			}
			if rate < 100 {
				s.exact(at, rate)
			}
			s.switchTo(queue.Deactivate)
		}
	}},
	{"a line is served evenly, not a second's worth at once", func(s *stand) { // exact-inflow: smooth
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 100 })
		s.switchTo(queue.Activate)
		s.fill(1, 1100)
		for range 40 {
			if n := len(s.run(250*time.Millisecond, 250*time.Millisecond)); n != 25 {
				s.Fatalf("%d in a quarter of a second, want 25", n)
			}
		}
	}},
	{"a very low rate lets people in one by one", func(s *stand) { // B101
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 0.08333 })
		s.switchTo(queue.Activate)
		s.fill(1, 20)
		at := s.runTimed(300*time.Second, 250*time.Millisecond)
		is(s, "let in", len(at), 20)
		for i := range at {
			gap := at[i]
			if i > 0 {
				gap -= at[i-1]
			}
			if gap < 10_000 || gap > 14_000 {
				s.Fatalf("gap %d ms before the %dth, want 12 s ± 2 s", gap, i+1)
			}
		}
	}},
	{"at inflow 0 nobody goes in", func(s *stand) { // B142
		s.set(func(l *queue.Limits) { patient(l); l.Inflow, l.MaxActive = 0, 10 })
		s.switchTo(queue.Activate)
		s.fill(1, 20)
		is(s, "in ten minutes", len(s.run(600*time.Second, time.Second)), 0)
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 3})
		is(s, "by hand", len(s.run(10*time.Second, time.Second)), 3)
		for _, rate := range []float64{math.Copysign(0, -1), 1e-9} {
			s.set(func(l *queue.Limits) { l.Inflow = rate })
			is(s, "in ten minutes", len(s.run(600*time.Second, 10*time.Second)), 0)
		}
	}},
	{"what a bucket holds lets nobody in once the inflow is 0", func(s *stand) { // B142
		s.set(func(l *queue.Limits) { l.Inflow = 50 })
		s.switchTo(queue.Activate)
		s.run(5*time.Second, time.Second) // the bucket is full
		zero := 0.
		s.order(queue.SwitchOrder{Action: queue.SetInflow, Inflow: &zero})
		is(s, "at once", s.join(visitor(1))[0].Outcome, queue.Waiting)
		is(s, "by steps", len(s.run(60*time.Second, time.Second)), 0)
		s.order(queue.SwitchOrder{Action: queue.SetInflow})
		is(s, "the policy's again", len(s.run(time.Second, time.Second)), 1)
	}},
	{"a lower rate does not use up the tokens of the old one", func(s *stand) { // B143
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 100 })
		s.switchTo(queue.Activate)
		s.run(900*time.Millisecond, 100*time.Millisecond)
		s.set(func(l *queue.Limits) { l.Inflow = 1 })
		s.step() // 90 tokens are unused
		first := 0
		for _, a := range s.join(visitors(1, 300)...) {
			if a.Outcome == queue.Inside {
				first++
			}
		}
		at := append(make(instants, first), s.runTimed(10*time.Second, 100*time.Millisecond)...)
		first = 0
		for _, ms := range at {
			if ms < 1000 {
				first++
			}
		}
		if first > 2 || len(at) < 10 || len(at) > 12 {
			s.Fatalf("%d in the first second, %d in ten", first, len(at))
		}
		s.exact(at, 1)
	}},
	{"a changed rate is settled at the old one up to now", func(s *stand) {
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 2 })
		s.switchTo(queue.Activate)
		s.fill(1, 100)
		s.clock.Add(time.Second)
		up := 40.
		h := s.order(queue.SwitchOrder{Action: queue.SetInflow, Inflow: &up}).Header
		is(s, "inflow", h.Inflow, 40)
		is(s, "override", *h.Override, 40)
		is(s, "owed by the old rate", len(s.step().Admitted), 2)
		is(s, "by the new one", len(s.run(time.Second, 250*time.Millisecond)), 40)
		s.set(func(l *queue.Limits) { l.Inflow = 5 })
		is(s, "by hand goes before the policy", len(s.run(time.Second, 250*time.Millisecond)), 40)
		is(s, "inflow", s.order(queue.SwitchOrder{Action: queue.SetInflow}).Header.Inflow, 5)
	}},
	{"older limits do not replace newer ones", func(s *stand) { // live-settings
		s.set(func(l *queue.Limits) { l.Inflow = 3 })
		v := s.switchTo(queue.Activate).Header.Version
		old := s.limits
		s.set(func(l *queue.Limits) { l.Inflow = 4 })
		h := s.step().Header
		is(s, "inflow", h.Inflow, 4)
		is(s, "a new version", h.Version > v, true)
		s.limits = old
		again := s.step().Header
		is(s, "inflow", again.Inflow, 4)
		is(s, "version", again.Version, h.Version)
	}},
	{"several movers at once let in no more than one", func(s *stand) { // exact-inflow
		s.set(func(l *queue.Limits) { patient(l); l.Inflow = 20 })
		s.switchTo(queue.Activate)
		s.fill(1, 150)
		n := 0
		for range 20 {
			s.clock.Add(250 * time.Millisecond)
			for range 3 {
				n += len(s.step().Admitted)
			}
		}
		is(s, "in five seconds", n, 100)
	}},
	{"a clock that is wrong for a while, and set right, stops nobody and gives nobody more", func(s *stand) { // B055
		const n, rate, tick = 10_000, 50, 250 * time.Millisecond
		s.tickMS = tick.Milliseconds()
		s.set(func(l *queue.Limits) { l.Inflow, l.AbandonMS = rate, 3_600_000 })
		s.switchTo(queue.Activate)
		for from := 1; from <= n; from += 200 {
			s.fill(from, 200)
		}
		last, position, in := visitor(n), int64(n), 0
		run := func(seconds int) {
			s.Helper()
			for second := range seconds {
				got := len(s.run(time.Second, tick))
				in += got
				if second >= 2 && (got < rate*9/10 || got > rate*11/10) || got > 2*rate {
					s.Fatalf("%d let in in second %d after the jump, %d in all", got, second, in)
				}
				now := s.poll(last).Position
				if now > position {
					s.Fatalf("position %d after %d", now, position)
				}
				position = now
			}
		}
		run(10)
		s.clock.Add(2 * time.Hour)
		run(10)
		s.clock.Add(-2*time.Hour + time.Minute)
		is(s, "a newcomer's position", s.join(visitor(n + 1))[0].Position, position+1)
		run(90)
		is(s, "no claim is over by the jumps", s.look().Counts.NoShow, 0)
		run(20)
		c := s.look().Counts
		is(s, "nobody is silent by them", c.Abandoned, 0)
		if c.NoShow < 8*rate || c.NoShow > 14*rate { // claims of the first ten seconds and a tick or two of each jump
			s.Fatalf("%d claims are over 130 s after the first", c.NoShow)
		}
		s.clock.Add(-3 * time.Hour)
		s.clock.Add(-3 * time.Hour) // and back to a time before it all
		run(10)
	}},
	{"a large admission by hand is worked off exactly, in steps", func(s *stand) { // B029
		s.set(func(l *queue.Limits) { patient(l); l.Inflow, l.ClaimMS = 0, 60_000 })
		s.switchTo(queue.Activate)
		const n, by = 50_000, 20_000
		for from := 1; from <= n; from += 200 {
			s.fill(from, 200)
		}
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: by})
		is(s, "debt", s.look().Debt, by)
		s.stepOnce()
		if debt := s.look().Debt; debt != by-300 {
			s.Fatalf("debt %d after one step", debt)
		}
		s.step()
		is(s, "debt", s.look().Debt, 0)
		s.sizes(n-by, by)
		s.set(func(l *queue.Limits) { l.Inflow = 100_000 })
		s.step()
		s.run(100*time.Millisecond, 100*time.Millisecond)
		s.sizes(n-by-10_000, by+10_000)
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.step()
		s.clock.Add(61 * time.Second)
		is(s, "no-shows", s.step().NoShow, by+10_000)
		r := s.order(queue.SwitchOrder{Action: queue.Reset})
		is(s, "left", r.Left, n-by-10_000)
		s.sizes(0, 0)
	}},
	{"what is admitted by hand ends with the line", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Inflow = 0 })
		s.switchTo(queue.Activate)
		s.fill(1, 2)
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 5})
		is(s, "let in", len(s.step().Admitted), 2)
		is(s, "debt", s.look().Debt, 0)
		is(s, "a newcomer", s.join(visitor(3))[0].Outcome, queue.Waiting)
		is(s, "let in", len(s.step().Admitted), 0)
	}},
	{"while all is on hold nobody goes in, also not by hand", func(s *stand) {
		s.switchTo(queue.Activate)
		s.run(time.Second, time.Second)
		s.set(func(l *queue.Limits) { l.Hold = true })
		s.step()
		is(s, "a newcomer", s.join(visitor(1))[0].Outcome, queue.Waiting)
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 1})
		is(s, "let in", len(s.run(10*time.Second, time.Second)), 0)
		s.set(func(l *queue.Limits) { l.Hold = false })
		is(s, "afterwards", len(s.step().Admitted), 1)
	}},
	{"a paused line lets in only by hand", func(s *stand) {
		s.switchTo(queue.Activate)
		vs := s.fill(1, 30)
		s.switchTo(queue.Pause)
		is(s, "paused", len(s.run(10*time.Second, time.Second)), 0)
		s.order(queue.SwitchOrder{Action: queue.Admit, Count: 2})
		is(s, "by hand", len(s.run(time.Second, time.Second)), 2)
		is(s, "positions are kept", s.poll(vs[2]).Position, 1)
		s.switchTo(queue.Resume)
		is(s, "no tokens from the pause", len(s.step().Admitted), 0)
		is(s, "in a second", len(s.run(time.Second, 250*time.Millisecond)), 10)
	}},
}
