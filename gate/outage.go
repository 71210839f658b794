package gate

import (
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
)

// storeDown answers without the store: as the policy says, to whoever has no pass.
func (g *Gate) storeDown(q *question, h queue.Header) verdict {
	if q.policy.OnStoreFailure == queue.FailOpen && q.swtch != settings.Hold && !q.peek {
		v := passes(StoreDown, h)
		v.waiting = g.waiting(q, h)
		// It is no proof of having been inside before the queue turned on, and must not take the place of one.
		v.unmarked = h.On()
		return v
	}
	return g.kept(q, h, StoreDown)
}

// kept answers a visitor whose place is known by the ticket alone: it is renewed, and the position is the one last
// shown. Whoever has no ticket waits without a position.
func (g *Gate) kept(q *question, h queue.Header, r Reason) verdict {
	v := verdict{action: Wait, reason: r, header: h, waiting: g.waiting(q, h)}
	if t := q.who.ticket.Place; t.Generation != 0 && t.Generation >= h.Generation {
		v.header.Generation, v.header.Epoch = t.Generation, t.Epoch // the ticket stays what it is
		g.placed(q, &v, t.Score, t.ShownMost, false, q.nowMS)
		v.header = h
	}
	v.eta = queue.Estimate{}
	v.poll = g.pollAfter(q, &v)
	if v.place.Place.Generation != 0 {
		g.told(q, &v, q.nowMS)
	}
	return v
}

// held answers while the switch over all items lets nobody new in, and the queue is off: whoever holds a pass, or passed
// within a session, is not new. All others wait; there is no line to stand in, so no place either.
func (g *Gate) held(q *question, h queue.Header) verdict {
	if g.holds(h, q.item, q.who.id(), q.who.pass) {
		return g.passValid(q, h)
	}
	if q.who.visitor.Mark(q.item) > q.nowMS-q.limits.SessionMS {
		return passes(QueueOff, h)
	}
	v := verdict{action: Wait, reason: Paused, header: h}
	v.poll = g.pollAfter(q, &v)
	return v
}
