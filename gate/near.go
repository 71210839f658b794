package gate

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/queue"
)

const (
	// headLife is the age up to which a look at the head of a line is used: less than a tick of the movers, and than
	// an answer is on its way to a telephone.
	headLife = 50 * time.Millisecond
	// mostHead is the most places of one look at a head. Those between it and farWait, at a high inflow, ask the line.
	mostHead = 2000
)

// Moved takes note that this node has moved the head of a line: a look at it from before is too old.
func (g *Gate) Moved(item queue.Item) { g.heads.moved(item) }

// Forget drops what is kept of an item whose queue has long been off.
func (g *Gate) Forget(item queue.Item) { g.flows.forget(item) }

// head looks at all of a line who are not far.
func (g *Gate) head(ctx context.Context, item queue.Item) (queue.Head, error) {
	near := farWait.Seconds() * g.Board.Get(item).Inflow
	return g.Line.Head(ctx, item, int(min(mostHead, max(farPosition, near))))
}

// near answers who polls from near the head and cannot have been let in since it was looked at. Whoever is not in it,
// or comes next, or stands no better than before, asks the line: nobody learns of an admission later than by asking it.
func (g *Gate) near(ctx context.Context, q *question, h queue.Header) (verdict, bool) {
	if h.State == queue.Prequeue && q.limits.Random {
		return verdict{}, false // the line hides its positions
	}
	t := q.who.ticket.Place
	head, err := g.heads.at(ctx, q.item)
	if err != nil {
		g.storeFailed(ctx, "head", q.item, err)
		return g.storeDown(q, h), errors.Is(err, queue.ErrStoreDown)
	}
	position := head.Position(t.Score)
	if position <= upcoming(h) || t.ShownMost > 0 && position > t.ShownMost {
		return verdict{}, false
	}
	g.flows.of(q.item).waiting.Store(head.Waiting)
	v := verdict{action: Wait, reason: q.waits(h.State), header: h, waiting: g.waiting(q, h)}
	g.Beats.Heard(q.item, q.who.id())
	g.placed(q, &v, t.Score, position, true, q.nowMS)
	return v, true
}

// upcoming is the last position that steps may let in at any moment: what the bucket holds at most.
func upcoming(h queue.Header) int64 { return int64(h.Inflow) + 2 }
