package gate

import (
	"crypto/rand"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/gate/page"
	"github.com/sluicehq/sluice/queue"
)

var varyPage = []string{"Accept, Accept-Language, Cookie"}

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
	if !q.peek && !q.asset {
		g.takeOver(r, q)
	}
	q.create = !q.asset
	v, err := g.decide(r.Context(), q)
	if err != nil {
		return err
	}
	g.passed(q, &v)
	h["Vary"], h["Referrer-Policy"], h["X-Robots-Tag"], h["X-Content-Type-Options"] = varyPage, noReferrer, noIndex, noSniff
	if wantsJSON(r) {
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

// selfURL is the page's own address, to which it comes back by itself. Where no cookie came with the request, it carries
// the visitor and the ticket: it may be that the browser keeps none.
func (g *Gate) selfURL(q *question, rep *reply, back, lang string) string {
	query := ""
	add := func(name, value string) {
		if value != "" {
			query += "&" + name + "=" + url.QueryEscape(value)
		}
	}
	add("return", back)
	add("lang", lang)
	if q.connector {
		add(connectorParam, "1")
	}
	if !q.who.cookies && !q.peek {
		add("v", rep.visitor)
		add("t", rep.ticket)
	}
	address := g.site.path + "/wait/" + string(q.item)
	if query != "" {
		address += "?" + query[1:]
	}
	return address
}

// show writes the page.
func (g *Gate) show(c *gin.Context, q *question, rep *reply, back, asked string) error {
	r, h, v := c.Request, c.Writer.Header(), rep.verdict
	texts := page.Choose(asked, header(r, "Accept-Language"))
	lang := ""
	if asked != "" {
		lang = texts.Lang
	}
	d := page.Data{
		Texts: texts, Nonce: rand.Text(), Item: string(q.item), Action: string(v.action), Reason: string(v.reason),
		Position: v.position, Self: g.selfURL(q, rep, back, lang),
		Status: g.site.path + "/v1/items/" + string(q.item) + "/status",
		Title:  localized(q.policy.WaitPage.Title, texts.Lang), Message: localized(q.policy.WaitPage.Message, texts.Lang),
		LogoURL: q.policy.WaitPage.LogoURL, AfterURL: q.policy.WaitPage.AfterURL, Theme: theme(q.policy.WaitPage.Theme),
		EtaKnown: v.eta.Known, Eta: v.eta.Wait,
	}
	if v.header.State == queue.Prequeue && v.header.OpensMS > 0 {
		d.OpensAt = time.UnixMilli(v.header.OpensMS).UTC()
	}
	if !q.who.cookies {
		d.Visitor, d.Ticket = rep.visitor, rep.ticket
	}
	switch v.action {
	case Wait:
		d.Refresh = v.poll
	case Reject:
		if v.retryMS != never {
			d.Refresh = time.Duration(v.retryMS) * time.Millisecond
		}
	}
	img := ""
	if d.LogoURL != "" {
		if origin, _, ok := queue.ParseOrigin(d.LogoURL); ok {
			img = "; img-src " + string(origin)
		}
	}
	h["Content-Type"], h["Content-Language"] = htmlType, []string{texts.Lang}
	h["Content-Security-Policy"] = []string{"default-src 'none'; connect-src 'self'; style-src 'nonce-" + d.Nonce + "'; script-src 'nonce-" + d.Nonce +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" + img}
	status := http.StatusOK
	if v.action != Pass {
		status = q.policy.WaitPage.Status
	}
	c.Writer.WriteHeader(status)
	return g.page.Execute(c.Writer, d)
}

func parsePage() (*template.Template, error) { return page.Parse() }

// localized gives an operator's text in a language, else in English, else none.
func localized(texts map[string]string, lang string) string {
	if t, ok := texts[lang]; ok {
		return t
	}
	return texts["en"]
}

// theme gives the colours as CSS variables. Their form was checked when they were set; what is not a colour is left out.
func theme(colours map[string]string) template.CSS {
	var b strings.Builder
	for _, name := range queue.ThemeColours {
		v := colours[name]
		if (len(v) == 4 || len(v) == 7) && v[0] == '#' && strings.Trim(v[1:], "0123456789abcdefABCDEF") == "" {
			b.WriteString("--" + name + ":" + v + ";")
		}
	}
	return template.CSS(b.String())
}
