package memline

import (
	"context"
	"math"

	"github.com/sluicehq/sluice/queue"
)

const (
	leastHoldMS = 2000 // after a loss
	idleMS      = 1000 // between two steps where nothing is due
	mostMoved   = 300  // by one step whose order names no number
	leastSwept  = 32   // places in one part of a sweep, or the whole line
)

// Step lets time pass at one item: stays end, the next go in, silent visitors leave, the queue goes off. It never fails.
func (l *Line) Step(_ context.Context, id queue.Item, o queue.StepOrder) (queue.StepReport, error) {
	now := l.now()
	out := queue.StepReport{Header: queue.Header{Item: id}, NowMS: now.ms, Requests: -1, DueMS: now.ms + idleMS}
	it := l.lock(id)
	if it == nil {
		out.Missing = true
		return out, nil
	}
	defer it.mu.Unlock()
	if !it.header.On() {
		l.rearm(it, now)
		out.Missing = l.forgetOld(it, now)
		out.Header, out.Counts, out.LastScore = it.header, it.counts(now), it.last
		return out, nil
	}
	out.Restored = l.heal(it, o, now)
	it.passTime(o.TickMS, now)
	it.take(o.Limits, now)
	it.settle(now)
	it.marks.turn(it.limits, now)

	s := step{item: it, now: now, out: &out, budget: o.Most}
	if s.budget <= 0 {
		s.budget = mostMoved
	}
	s.expire()
	s.admit()
	s.sweep()
	it.measure(now)
	out.Requests = l.release(it, now, &out)
	if out.Released {
		out.Story = it.story
	}
	out.Header, out.Counts, out.LastScore = it.header, it.counts(now), it.last
	if head, ok := it.order.First(); ok {
		out.HeadScore = head.score
	}
	out.DueMS = s.due()
	return out, nil
}

// passTime keeps the account of live time: a gap between two steps is nobody's.
func (it *item) passTime(tickMS int64, now instant) {
	if tickMS <= 0 {
		return
	}
	if it.steppedMS-now.ms > setBackMS {
		it.setBack(now)
	}
	it.lost = it.lostAt(now)
	it.steppedMS, it.tickMS = now.ms, tickMS
}

// step is one step under way.
type step struct {
	item   *item
	now    instant
	out    *queue.StepReport
	budget int // visitors that may still be moved
}

// expire ends the stays that are over.
func (s *step) expire() {
	it, live := s.item, s.item.live(s.now)
	for e, ok := it.ends.First(); ok && e.score <= live; e, ok = it.ends.First() {
		if s.budget == 0 {
			s.out.More = true
			return
		}
		s.budget--
		if it.expire(e.visitor, it.running[e.visitor]) {
			s.out.NoShow++
		} else {
			s.out.Finished++
		}
	}
}

// admit lets the next in: as many as were ordered by hand, and as many as the rate and the room allow.
func (s *step) admit() {
	it := s.item
	if state := it.header.State; state != queue.Open && state != queue.Paused || it.held(s.now) {
		return
	}
	var due int64
	if it.header.State == queue.Open {
		due = min(it.wholeTokens(), it.room(s.now))
	}
	deadline := it.live(s.now) + it.limits.ClaimMS
	for due+it.debt > 0 {
		e, ok := it.order.First()
		if !ok {
			break
		}
		if s.budget == 0 {
			s.out.More = true
			break
		}
		s.budget--
		if it.silent(e.visitor, s.now) {
			s.abandon(e)
			continue
		}
		it.leaveLine(e.visitor, place{score: e.score})
		it.enter(e.visitor, queue.Admission{Kind: queue.Let, AdmittedMS: s.now.ms}, deadline)
		it.books.Admitted++
		it.waited(e.score, s.now)
		s.out.Admitted = append(s.out.Admitted, queue.LetIn{Visitor: e.visitor, Score: e.score})
		if it.debt > 0 {
			it.debt--
		} else {
			due--
			it.spend(1)
		}
	}
	if len(it.waiting) == 0 {
		it.debt = 0
	}
}

func (s *step) abandon(e entry) {
	s.item.leaveLine(e.visitor, place{score: e.score})
	s.item.books.Abandoned++
	s.out.Abandoned++
}

// sweep looks through a part of the line for silent visitors, so large that all of it has its turn within a quarter of
// the abandon time.
func (s *step) sweep() {
	it := s.item
	if it.swept == (entry{}) {
		it.sweepSize = it.order.Len()
	}
	size := max(it.sweepSize, it.order.Len()) // a line that shrinks, or grows, is looked through no slower
	share, pace := 1.0, float64(it.limits.AbandonMS)/4
	if it.sweptMS > 0 && pace > 0 {
		share = min(1, max(0, float64(s.now.ms-it.sweptMS)/pace))
	}
	part := int(math.Ceil(float64(size) * share))
	if part < min(size, leastSwept) {
		return
	}
	sweptMS := s.now.ms
	var silent []entry
	last, looked := it.swept, 0
	it.swept = entry{} // where the end is reached, the next round begins at the head
	for e := range it.order.From(last) {
		if looked == part {
			it.swept = last
			break
		}
		if len(silent) == s.budget {
			it.swept = last
			// Only what was looked at is paid for: the rest of this part is the next call's.
			sweptMS -= int64(pace * float64(part-looked) / float64(size))
			s.out.More = true
			break
		}
		looked++
		last = e
		if it.silent(e.visitor, s.now) {
			silent = append(silent, e)
		}
	}
	it.sweptMS = max(it.sweptMS, sweptMS)
	for _, e := range silent {
		s.abandon(e)
	}
	s.budget -= len(silent)
}

// due says when the next step is needed at the latest.
func (s *step) due() int64 {
	it, now := s.item, s.now.ms
	if s.out.More {
		return now
	}
	due := now + idleMS
	if rate := it.rate(); it.header.State == queue.Open && len(it.waiting) > 0 && rate > 0 && it.room(s.now) > 0 {
		wait := math.Ceil(max(0, 1-it.tokens) / rate * 1000)
		due = min(due, max(it.holdMS, now+int64(min(wait, idleMS))))
	}
	if e, ok := it.ends.First(); ok {
		due = min(due, max(now, e.score+it.lost))
	}
	return due
}
