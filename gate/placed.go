package gate

import (
	"math/rand/v2"
	"time"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

// placed fills in the place of one who waits, and renews the ticket. score 0 = there is no ticket to give.
func (g *Gate) placed(q *question, v *verdict, score, position int64, exact bool, nowMS int64) {
	v.position, v.exact = position, exact
	g.etas.heard(q.item, q.who.id(), nowMS)
	v.eta = g.flows.of(q.item).estimate(position, v.header, nowMS)
	if q.swtch == settings.Hold {
		v.eta = queue.Estimate{}
	}
	v.poll = g.pollAfter(q, v)
	if score == 0 {
		return
	}
	g.told(q, v, nowMS)
	old := q.who.ticket
	v.place = ticket.Ticket{
		Visitor: q.who.id(),
		Place: queue.Ticket{
			Generation: v.header.Generation, Epoch: v.header.Epoch, Score: score, IssuedMS: nowMS, ShownMost: position,
		},
		EndsMS: nowMS + q.limits.TicketLifeMS(),
	}
	switch {
	case score >= queue.MaxLot:
		v.place.JoinedMS = score / 1000
	case old.Place.Score == score && old.JoinedMS > 0:
		v.place.JoinedMS = old.JoinedMS
	default:
		v.place.JoinedMS = nowMS
	}
}

// told notes until when a visitor near the head may stay silent.
func (g *Gate) told(q *question, v *verdict, nowMS int64) {
	if g.Told != nil && v.position <= farPosition {
		g.Told(q.item, nowMS+v.poll.Milliseconds())
	}
}

// pollAfter says when to ask again.
func (g *Gate) pollAfter(q *question, v *verdict) time.Duration {
	c := crowd(v.waiting, q.policy.PollBudgetPerSecond, v.header.Inflow)
	e := v.eta
	if !e.Known && v.position > 0 {
		// Nobody is let in for now. Whoever is near the head must hear of it soon when that changes, and is asked for
		// no more polls than while people are let in.
		e = queue.EstimateWait(v.position, queue.Flow{InflowPerSecond: v.header.Inflow})
	}
	return queue.PollAfter(e, q.limits, c, rand.Float64())
}
