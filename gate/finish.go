package gate

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// ErrPassNeeded refuses to end a session of a visitor who shows no pass.
var ErrPassNeeded = fault.New("forbidden", "Ending a session needs its pass, or a service token and the user.")

// finish ends the visitor's session early, so that the slot is free at once. Repeating it is no error.
func (g *Gate) finish(c *gin.Context) error {
	q, _, err := g.open(c, false)
	if err != nil {
		return err
	}
	switch w := q.who; {
	case w.server:
	case w.pass.IssuedMS == 0:
		// Whoever was inside before and has no pass any more has finished already.
		if !w.over && w.visitor.Mark(q.item) == 0 {
			return ErrPassNeeded
		}
		c.Status(http.StatusNoContent)
		return nil
	case g.Beats.PassEnded(q.item, w.id(), w.pass.IssuedMS):
		// Not a second time: it would cost the ticket of a place that was taken since.
		c.Status(http.StatusNoContent)
		return nil
	}
	// The pass is refused here from now on, whether or not the store can be told at once.
	g.Beats.EndPass(q.item, q.who.id(), q.nowMS)
	report, err := g.end(c.Request.Context(), q, queue.Finish)
	if err != nil {
		return err
	}
	g.Beats.EndPass(q.item, q.who.id(), report.NowMS)
	h := c.Writer.Header()
	if q.who.jar != nil {
		q.who.jar.Drop(q.item)
		g.setJar(h, q.who)
		if g.PassCookie {
			h["Set-Cookie"] = append(h["Set-Cookie"], pass.CookieName(string(q.item))+"=; Max-Age=0"+g.site.cookie)
		}
	}
	c.Status(http.StatusNoContent)
	return nil
}
