package gate

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// about starts the question of a request whose address names the item, and lets the page that asks read the answer.
func (g *Gate) about(c *gin.Context) (*question, error) {
	item, err := queue.ParseItem(problem.Param(c, "item"))
	if err != nil {
		return nil, err
	}
	q := g.ask(item)
	allowOrigin(c.Writer.Header(), c.Request, q.policy)
	return q, nil
}

// open reads what all visitor requests have: the item, its policy, the origin of the page that asks, where to return
// to, and who asks.
func (g *Gate) open(c *gin.Context, page bool) (q *question, back string, err error) {
	if q, err = g.about(c); err != nil {
		return nil, "", err
	}
	raw := ""
	if c.Request.URL.RawQuery != "" {
		if raw, _, err = param(c.Request, "return"); err != nil {
			return nil, "", ErrReturn
		}
	}
	back, err = g.meet(c.Request, q, raw, page)
	return q, back, err
}

// meet finds out who asks a question, and where that visitor returns to.
func (g *Gate) meet(r *http.Request, q *question, raw string, page bool) (back string, err error) {
	if back, err = parseReturn(raw, g.site.origin, q.policy.ReturnOrigins); err != nil {
		return "", err
	}
	q.peek = peeks(r)
	q.asset, q.media = pass.Asset(r)
	return back, g.identify(r, q, page)
}

// bodies are the buffers in which answers are put together.
var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

// answer writes a verdict as JSON, with the cookie that goes with it.
func (g *Gate) answer(c *gin.Context, q *question, v *verdict, back string) {
	h := c.Writer.Header()
	rep := g.settle(h, c.Request, q, v, back)
	h["Content-Type"] = jsonType
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	*buf = rep.append((*buf)[:0])
	c.Writer.WriteHeader(http.StatusOK)
	c.Writer.Write(*buf)
}

// settle turns a verdict into the tokens that the visitor takes along: marks, ticket, pass, cookie, address of the
// waiting page. Headers are set here, so before any body.
func (g *Gate) settle(h http.Header, r *http.Request, q *question, v *verdict, back string) reply {
	w := q.who
	g.Traces.Said(r.Context(), string(v.action), string(v.reason))
	rep := reply{item: q.item, verdict: v}
	if v.action == Pass && !v.unmarked && !q.peek && !q.stream && !q.asset {
		if w.jar != nil {
			w.jar.SetMark(q.item, q.nowMS)
		} else if w.visitor.SetMark(q.item, q.nowMS) {
			w.token = ""
		}
	}
	if v.pass.IssuedMS > 0 {
		if rep.pass = w.passToken; rep.pass == "" || v.pass != w.pass {
			rep.pass = g.sign(q.item, w.id(), v.pass)
		}
		if w.jar != nil {
			w.jar.SetPass(q.item, v.pass)
		}
	}
	if v.place.Place.Generation != 0 {
		rep.ticket = g.Keys.SealTicket(q.item, v.place)
		if w.jar != nil {
			w.jar.SetTicket(q.item, v.place)
		}
	}
	if rep.visitor = w.token; rep.visitor == "" {
		rep.visitor = g.Keys.SealVisitor(w.visitor)
	}
	if v.action == Wait {
		rep.waitURL = g.waitURL(q, v, back)
	}
	if q.takesCookies() {
		g.setCookies(h, r, q, rep.pass)
	}
	return rep
}

// takesCookies reports whether the answer may set cookies. That to an asset may not: shared caches keep assets, and would
// give one visitor's cookie to all. A film is no such thing where its viewer has a cookie already: while it runs nothing
// else may keep that one fresh.
func (q *question) takesCookies() bool {
	return !q.peek && !q.stream && (!q.asset || q.media && q.who.cookies)
}

// setCookies sets the one cookie of ours, if it has changed. The cookie of the pass alone, where it is asked for,
// comes before it, and so does the end of one of this host alone beside that of the domain, which is from before the
// domain was set: proxies that hand on a single cookie are answered by setJar.
func (g *Gate) setCookies(h http.Header, r *http.Request, q *question, token string) {
	if g.site.domain != "" && q.who.jar != nil && several(cookies(r, visitorCookie)) {
		h["Set-Cookie"] = append(h["Set-Cookie"], visitorCookie+"=; Max-Age=0; Path=/")
	}
	if g.PassCookie && token != "" && !q.who.headers {
		name := pass.CookieName(string(q.item))
		had := false
		for value := range cookies(r, name) {
			had = had || value == token
		}
		if !had {
			h["Set-Cookie"] = append(h["Set-Cookie"], name+"="+token+g.site.cookie)
		}
	}
	g.setJar(h, q.who)
}

// several reports whether there is more than one.
func several(values func(func(string) bool)) bool {
	n := 0
	for range values {
		n++
	}
	return n > 1
}

// setJar sets the cookie that carries all.
func (g *Gate) setJar(h http.Header, w *caller) {
	if w.jar != nil && w.jar.Changed() {
		h["Set-Cookie"] = append(h["Set-Cookie"], visitorCookie+"="+g.Keys.SealJar(w.jar)+"; Max-Age=31536000"+g.site.cookie)
	}
}

// handOverMS is the life of the code that lets the waiting page continue a visitor who came without cookies.
const handOverMS = 60_000

// waitURL is the address of the waiting page for the one who is answered v.
func (g *Gate) waitURL(q *question, v *verdict, back string) string {
	var b strings.Builder
	b.Grow(len(g.site.url) + len(q.item) + 3*len(back) + 192) // as long as it can become with a code
	b.WriteString(g.site.url)
	b.WriteString("/wait/")
	b.WriteString(string(q.item))
	sep := byte('?')
	if back != "" {
		b.WriteByte(sep)
		b.WriteString("return=")
		b.WriteString(url.QueryEscape(back))
		sep = '&'
	}
	if !q.who.cookies && v.place.Place.Generation != 0 && !q.peek {
		b.WriteByte(sep)
		b.WriteString("code=")
		t := v.place
		t.EndsMS = q.nowMS + handOverMS
		b.WriteString(g.Keys.SealTicket(handOverOf(q.item), t))
	}
	return b.String()
}

// handOverOf is the context of hand-over codes: no item id has this form, so no code is a ticket and no ticket a code.
func handOverOf(item queue.Item) queue.Item { return "hand-over " + item }

// takeOver makes the caller the visitor of a hand-over code, unless the browser holds a place or a pass of its own, at
// whatever item: a jar is one visitor's, and a foreign link must not empty it.
func (g *Gate) takeOver(r *http.Request, q *question) {
	code, named, err := param(r, "code")
	if err != nil || !named || q.who.headers || !q.who.jar.Empty() || q.who.ticket.Place.Generation != 0 || q.who.pass.IssuedMS != 0 {
		return
	}
	t, err := g.Keys.OpenTicket(handOverOf(q.item), code, q.now)
	if err != nil || t.Visitor == q.who.id() {
		return
	}
	t.EndsMS = t.Place.IssuedMS + q.limits.TicketLifeMS()
	w := q.who
	w.jar = ticket.NewJar(ticket.NewVisitor(t.Visitor, q.nowMS))
	w.visitor, w.token, w.ticket, w.known = &w.jar.Visitor, "", t, true
	w.cookies = false
}
