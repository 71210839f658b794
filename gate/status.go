package gate

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/gate/page"
)

// pageHeader tells a waiting page, which sends the tag of its texts in it, that the operator has written others.
const pageHeader = "Sluice-Page"

var pageChanged = []string{"changed"}

// status answers where the visitor stands now. It counts no traffic and makes no new place; the first answer
// that says `pass` claims the admission.
func (g *Gate) status(c *gin.Context) error {
	q, back, err := g.open(c, false)
	if err != nil {
		return err
	}
	defer q.release()
	if q.said, err = g.decide(c.Request.Context(), q); err != nil {
		return err
	}
	g.passed(q, &q.said)
	if tag := header(c.Request, pageHeader); tag != "" {
		h := c.Writer.Header()
		h["Date"] = []string{q.now.UTC().Format(http.TimeFormat)} // the line's clock, which the page counts down by
		if tag != page.Tag(&q.policy.WaitPage) {
			h[pageHeader] = pageChanged
		}
	}
	g.answer(c, q, &q.said, back)
	return nil
}

// passed takes note of a pass that was given outside check and authorize.
func (g *Gate) passed(q *question, v *verdict) {
	if v.action == Pass && !q.peek && !q.stream {
		g.Recorder.Check(q.item, v.action, v.reason)
	}
}
