package gate

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/pass"
)

// wait is the waiting page: it makes a place as check does, without counting traffic, and leads to `return`
// when it is the visitor's turn.
func (g *Gate) wait(c *gin.Context) error {
	q, back, err := g.open(c, true)
	if err != nil {
		return err
	}
	asked, _, _ := param(c.Request, "lang")
	return g.lineUp(c, q, back, asked)
}

// lineUp shows the waiting page in the language asked for, "" = the browser's, or sends on a visitor whose turn it is.
func (g *Gate) lineUp(c *gin.Context, q *question, back, lang string) error {
	r, h := c.Request, c.Writer.Header()
	q.asset = q.asset || framed(r)
	if !q.peek && !q.asset {
		g.takeOver(r, q)
	}
	q.create = !q.asset
	v, err := g.decide(r.Context(), q)
	if err != nil {
		return err
	}
	g.passed(q, &v)
	pageHeaders(h)
	if pass.WantsJSON(r) {
		g.answer(c, q, &v, back)
		return nil
	}
	connector := g.connected(r, q)
	foreign := !connector && back != "" && g.site.foreign(back)
	if foreign && v.pass.IssuedMS > 0 && !q.peek {
		g.handOut(q, &v)
	}
	rep := g.settle(h, r, q, &v, back)
	if v.action != Pass || back == "" {
		return g.show(c, q, &rep, back, lang)
	}
	switch {
	case connector:
		back = g.withToken(back, q, &v)
	case foreign && rep.pass != "":
		back = withPass(back, rep.pass)
	}
	g.redirect(c, back)
	return nil
}

// framed reports whether a browser asks for a page to show it inside another one. It will not show this one there, so
// that nobody is made to click in it unseen, and what is not shown makes no place.
func framed(r *http.Request) bool {
	switch header(r, "Sec-Fetch-Dest") {
	case "iframe", "frame", "embed", "object":
		return true
	}
	return false
}

// redirect sends the browser to an address that parseReturn let through.
func (g *Gate) redirect(c *gin.Context, address string) {
	c.Writer.Header()["Location"] = []string{location(address)}
	c.Writer.WriteHeader(http.StatusFound)
	c.Writer.WriteHeaderNow()
}

// handOutMS is the age up to which a pass is handed to an origin of another site as it is: the origin takes one within
// 60 s of its iat, and the visitor needs some of them for the way.
const handOutMS = 30_000

// handOut gives a pass that is about to be handed to another site a new instant of issue, where the old one is too old
// to be taken.
func (g *Gate) handOut(q *question, v *verdict) {
	if q.nowMS-v.pass.IssuedMS < handOutMS {
		return
	}
	shown := v.pass
	v.pass.IssuedMS = q.nowMS - q.nowMS%1000
	if q.policy.SessionRenewal {
		v.pass.EndsMS = v.pass.IssuedMS + q.policy.SessionSeconds*1000
	}
	g.beat(q.item, q.who.id(), shown, v.pass)
}
