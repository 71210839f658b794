package linetest

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// lot draws as a gate would: a function of the visitor alone.
func lot(v queue.Visitor) int64 {
	h := fnv.New64a()
	fmt.Fprint(h, "seed", v)
	return int64(h.Sum64()*0x9e3779b97f4a7c15>>15)%(queue.MaxLot-1) + 1
}

func (s *stand) drawn(vs ...queue.Visitor) []queue.Answer {
	s.Helper()
	var asks []queue.Ask
	for _, v := range vs {
		asks = append(asks, queue.Ask{Visitor: v, Create: true, Lot: lot(v)})
	}
	return s.asks(asks...)
}

// gather starts a prequeue as a sale does.
func (s *stand) gather() queue.Header {
	s.Helper()
	return s.order(queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale, By: "friday", OpensMS: s.nowMS() + 60_000}).Header
}

// open opens it.
func (s *stand) open() queue.Header {
	s.Helper()
	return s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.BySale, By: "friday"}).Header
}

var draw = []test{
	{"a prequeue lets nobody in and keeps the order of arrival", func(s *stand) {
		h := s.gather()
		is(s, "state", h.State, queue.Prequeue)
		vs := s.fill(1, 30)
		is(s, "let in", len(s.run(30*time.Second, time.Second)), 0)
		is(s, "position", s.poll(vs[4]).Position, 5)
		o := s.open()
		is(s, "generation", o.Generation, h.Generation)
		is(s, "activated", o.ActivatedMS, h.ActivatedMS)
		is(s, "nobody has moved", len(s.step().Admitted), 0)
		is(s, "in a second", len(s.run(time.Second, 250*time.Millisecond)), 10)
	}},
	{"those who came early are drawn by lot, and late ones follow in order", func(s *stand) { // B107
		s.set(func(l *queue.Limits) { patient(l); l.Random, l.Inflow = true, 0 })
		s.gather()
		const n, late = 2000, 200
		vs := visitors(1, n)
		for range 5 { // everybody reloads
			for _, a := range s.drawn(vs...) {
				is(s, "outcome", a.Outcome, queue.Waiting)
				is(s, "position before", a.Position, 0)
				if a.Score < 1 || a.Score >= queue.MaxLot {
					s.Fatalf("lot %d", a.Score)
				}
			}
		}
		is(s, "found at", s.find(vs[0]).Position, 0)
		is(s, "2,000 lots", s.look().Counts.Joined, n)
		s.open()
		s.step()
		seen := make([]bool, n+1)
		var mean, corr float64
		mean = (n + 1) / 2.
		for i, a := range s.drawn(vs...) {
			if a.Position < 1 || a.Position > n || seen[a.Position] {
				s.Fatalf("position %d is no part of a permutation", a.Position)
			}
			seen[a.Position] = true
			corr += (float64(i+1) - mean) * (float64(a.Position) - mean)
		}
		if corr /= n * (n*n - 1) / 12.; math.Abs(corr) >= 0.08 {
			s.Fatalf("rank correlation with arrival %.3f", corr)
		}
		for i := range late {
			s.clock.Add(time.Millisecond)
			is(s, "a late one", s.drawn(visitor(n + 1 + i))[0].Position, int64(n+1+i))
		}
	}},
	{"a lot comes back with its ticket, until its place was ended", func(s *stand) {
		s.set(func(l *queue.Limits) { l.Random = true })
		s.gather()
		a := s.drawn(visitor(1))[0]
		s.drawn(visitor(2))
		t := s.ticket(a)
		s.clock.Add(121 * time.Second)
		s.hear(visitor(2))
		s.run(35*time.Second, time.Second)
		s.sizes(1, 0)
		back := s.comeBack(visitor(1), t)
		is(s, "returned", back.Returned, true)
		is(s, "score", back.Score, a.Score)
		s.end(queue.Leave, visitor(1))
		is(s, "ended", s.comeBack(visitor(1), t).Outcome, queue.NoPlace)
		is(s, "anew", s.drawn(visitor(1))[0].Score, a.Score)
		s.clock.Add(121 * time.Second)
		s.run(35*time.Second, time.Second)
		is(s, "its ticket counts again", s.comeBack(visitor(1), t).Returned, true)
	}},
	{"the detector does not open a prequeue, an operator does", func(s *stand) {
		h := s.gather()
		s.fill(1, 3)
		is(s, "changed", s.order(queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByDetector}).Changed, false)
		is(s, "state", s.look().Header.State, queue.Prequeue)
		r := s.switchTo(queue.Activate)
		is(s, "state", r.Header.State, queue.Open)
		is(s, "generation", r.Header.Generation, h.Generation)
		s.sizes(3, 0)
	}},
}
