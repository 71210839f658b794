package memline

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// Ask answers where visitors stand, and makes, claims or gives back their places. It never fails.
func (l *Line) Ask(_ context.Context, id queue.Item, asks []queue.Ask) (queue.Answers, error) {
	now := l.now()
	out := queue.Answers{Header: queue.Header{Item: id}, NowMS: now.ms, Answers: make([]queue.Answer, len(asks))}
	it := l.lock(id)
	if it == nil {
		return out, nil
	}
	defer it.mu.Unlock()
	if it.header.On() {
		it.settle(now)
		it.marks.turn(it.limits, now)
		for i := range asks {
			out.Answers[i] = it.ask(&asks[i], now)
		}
		// Places move within a batch, so positions are read after it.
		for i := range asks {
			if out.Answers[i].Outcome == queue.Waiting {
				v := asks[i].Visitor
				p := it.waiting[v]
				out.Answers[i].Score, out.Answers[i].Position = p.score, it.position(v, p)
			}
		}
	}
	out.Header, out.Counts = it.header, it.counts(now)
	return out, nil
}

func (it *item) ask(a *queue.Ask, now instant) queue.Answer {
	v := a.Visitor
	if s := it.running[v]; s != nil {
		if s.deadline > it.live(now) {
			if a.Peek {
				return queue.Answer{Outcome: queue.Inside, Admission: s.admission}
			}
			it.claim(v, s, now)
			return queue.Answer{Outcome: queue.Inside, Score: it.last, Admission: s.admission}
		}
		if a.Peek {
			return queue.Answer{Outcome: queue.NoPlace}
		}
		it.expire(v, s)
	}
	if p, ok := it.waiting[v]; ok {
		if !a.Peek {
			it.hear(a, p, now)
		}
		return queue.Answer{Outcome: queue.Waiting}
	}
	switch {
	case it.header.State == queue.Closed:
		return queue.Answer{Outcome: queue.NotOpen}
	case a.Peek:
		return queue.Answer{Outcome: queue.NoPlace}
	case it.graced(a, now):
		it.books.Carried++
		it.showUp()
		return queue.Answer{Outcome: queue.Inside, Score: it.last, Admission: it.enterNow(v, queue.Graced, now).admission}
	case it.holds(a):
		it.comeBack(a, now)
		return queue.Answer{Outcome: queue.Waiting, Returned: true}
	case !a.Create:
		return queue.Answer{Outcome: queue.NoPlace}
	}
	return it.join(a, now)
}

// hear notes a sign of life of somebody in waiting, and moves the place where the ticket proves an older one.
func (it *item) hear(a *queue.Ask, p place, now instant) {
	if it.holds(a) && a.Ticket.Score < p.score {
		it.order.Remove(entry{p.score, a.Visitor})
		p.score = a.Ticket.Score
		it.order.Insert(entry{p.score, a.Visitor})
	}
	p.heard = it.live(now) / 1000
	it.waiting[a.Visitor] = p
}

// holds reports whether the ticket gives a place in this generation's line.
func (it *item) holds(a *queue.Ask) bool {
	t := a.Ticket
	if t == nil || t.Generation != it.header.Generation {
		return false
	}
	ended := it.marks.of(a.Visitor).score
	if t.Score < queue.MaxLot {
		return ended < 0 // a lot tells nothing of when: any end that came after may be its end
	}
	return ended < t.Score
}

// graced reports whether the visitor was inside when the queue turned on.
func (it *item) graced(a *queue.Ask, now instant) bool {
	h, m, session := &it.header, a.MarkMS, it.limits.SessionMS
	return h.Grace && m > 0 && m <= h.ActivatedMS && m > h.ActivatedMS-session && now.ms < m+session &&
		it.marks.of(a.Visitor).ended < m
}

func (it *item) comeBack(a *queue.Ask, now instant) {
	it.lineUp(a.Visitor, a.Ticket.Score, now)
	it.last = max(it.last, a.Ticket.Score)
	it.books.Returned++
	if a.Ticket.Epoch != it.header.Epoch {
		it.books.Restored++
	}
}

// join gives a newcomer a place, or admits at once where nobody waits and one is due.
func (it *item) join(a *queue.Ask, now instant) queue.Answer {
	switch {
	case it.header.Draining:
		return queue.Answer{Outcome: queue.NotOpen}
	case it.limits.MaxWaiting > 0 && int64(len(it.waiting)) >= it.limits.MaxWaiting:
		return queue.Answer{Outcome: queue.Full}
	case it.header.State == queue.Open && len(it.waiting) == 0 && !it.held(now) && it.debt == 0 &&
		it.wholeTokens() >= 1 && it.room(now) >= 1:
		it.spend(1)
		it.story.AtOnce++
		it.books.Joined++
		it.books.Admitted++
		return queue.Answer{Outcome: queue.Inside, New: true, Score: it.last, Admission: it.enterNow(a.Visitor, queue.Let, now).admission}
	case it.hidden() && a.Lot > 0:
		it.marks.forgetTickets(a.Visitor)
		it.lineUp(a.Visitor, a.Lot, now)
	default:
		it.last = max(it.last+1, now.us)
		it.lineUp(a.Visitor, it.last, now)
	}
	it.books.Joined++
	return queue.Answer{Outcome: queue.Waiting, New: true}
}

// enterNow puts a visitor into running who is there already: claimed at once.
func (it *item) enterNow(v queue.Visitor, kind queue.AdmissionKind, now instant) *stay {
	a := queue.Admission{Kind: kind, AdmittedMS: now.ms, ClaimedMS: now.ms, Requests: 1}
	return it.enter(v, a, 0).issue(it, v, now)
}

// claim gives a visitor inside a pass: soon after the last one the very same, so that answers that got lost and tabs
// that ask together agree.
func (it *item) claim(v queue.Visitor, s *stay, now instant) {
	a := &s.admission
	a.Requests++
	if a.ClaimedMS == 0 {
		a.ClaimedMS = now.ms
		it.marks.set(v, it.last, -1)
		s.issue(it, v, now)
		return
	}
	same := it.limits.SessionMS / 10
	if a.IssuedMS <= wholeSecond(a.ClaimedMS)+1000 { // the claim's own; the next one is a tenth of the session younger
		same = max(same, min(it.limits.ClaimMS, 60_000))
	}
	if now.ms-a.IssuedMS >= same && it.limits.SessionRenewal {
		s.issue(it, v, now)
	}
}

// issue starts a new pass at now, in whole seconds and later than the instant up to which passes have ended; the stay
// lasts as long as it is accepted.
func (s *stay) issue(it *item, v queue.Visitor, now instant) *stay {
	s.admission.IssuedMS = wholeSecond(now.ms)
	if ended := it.marks.of(v).ended; s.admission.IssuedMS <= ended {
		s.admission.IssuedMS = wholeSecond(ended) + 1000
	}
	s.admission.PassEndsMS = s.admission.IssuedMS + it.limits.SessionMS
	it.extend(v, s, s.admission.PassEndsMS+queue.PassLeewayMS-it.lostAt(now))
	return s
}
