package gate

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/queue"
)

// leave ends the visitor's place. Leaving twice, or without a place, is no error.
func (g *Gate) leave(c *gin.Context) error {
	q, _, err := g.open(c, false)
	if err != nil {
		return err
	}
	if err := g.giveUp(c, q); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// giveUp ends the place of who asks, if there is one.
func (g *Gate) giveUp(c *gin.Context, q *question) error {
	if q.who.known {
		if _, err := g.end(c.Request.Context(), q, queue.Leave); err != nil {
			return err
		}
		if q.who.jar != nil && q.who.pass.IssuedMS == 0 {
			q.who.jar.Drop(q.item)
			g.setJar(c.Writer.Header(), q.who)
		}
	}
	return nil
}

// endPlace remembers that the visitor's tickets have lost their power.
func (g *Gate) endPlace(q *question, h queue.Header, score, atMS int64) {
	score = max(score, q.who.ticket.Place.Score) // a store that has lost the queue knows of none
	if h.State == queue.Prequeue && q.limits.Random {
		score = 0 // who comes back draws the same lot
	}
	g.Beats.EndPlace(q.item, q.who.id(), score, atMS)
}

// end ends what the visitor has in the line.
func (g *Gate) end(ctx context.Context, q *question, kind queue.EndKind) (queue.EndReport, error) {
	if !g.StoreUp() {
		return queue.EndReport{}, queue.ErrStoreDown
	}
	call, cancel := context.WithTimeout(ctx, g.StorePatience)
	defer cancel()
	report, err := g.Line.End(call, q.item, queue.Ending{Kind: kind, Visitor: q.who.id()})
	switch {
	case err == nil:
		g.etas.forget(q.item, q.who.id())
		if report.Header.Item != "" {
			g.Board.Put(report.Header)
			g.endPlace(q, report.Header, report.Score, max(q.nowMS, report.NowMS))
		}
		return report, nil
	case ctx.Err() != nil:
		return report, ctx.Err()
	default:
		g.storeFailed(ctx, "end", q.item, err)
		return report, queue.ErrStoreDown.Because(err)
	}
}
