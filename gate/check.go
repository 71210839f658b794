package gate

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// check answers whether the visitor may open the item. It counts as traffic and makes a place.
func (g *Gate) check(c *gin.Context) error {
	q, back, err := g.open(c, false)
	if err != nil {
		return err
	}
	defer q.release()
	q.create, q.counts = !q.asset, !q.peek && !q.asset
	if q.said, err = g.decide(c.Request.Context(), q); err != nil {
		return err
	}
	if q.counts {
		g.Recorder.Check(q.item, q.said.action, q.said.reason)
	}
	g.answer(c, q, &q.said, back)
	return nil
}

// preflight answers a browser that asks whether a page of another origin may call the API.
func (g *Gate) preflight(c *gin.Context) error {
	q, err := g.about(c)
	if err != nil {
		return err
	}
	preflight(c.Writer.Header(), c.Request, q.policy)
	c.Status(http.StatusNoContent)
	return nil
}
