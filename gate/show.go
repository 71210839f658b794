package gate

import (
	"compress/gzip"
	"crypto/rand"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/gate/page"
	"github.com/sluicehq/sluice/queue"
)

var (
	varyPage = []string{"Accept, Accept-Encoding, Accept-Language, Cookie"}
	gzipped  = []string{"gzip"}
)

func pageHeaders(h http.Header) {
	h["Vary"], h["Referrer-Policy"], h["X-Robots-Tag"], h["X-Content-Type-Options"] = varyPage, noReferrer, noIndex, noSniff
}

// What the page's own address says of an earlier page, for one that knows nothing but its address.
const (
	sinceParam = "since" // when that place was taken, ms
	wayParam   = "way"   // percent of the way that it showed
)

// address is an address of the page, with what it needs to go on. Where no cookie came with the request, it carries the
// visitor and the ticket: it may be that the browser keeps none.
func (g *Gate) address(q *question, rep *reply, path, back, lang string, more ...string) string {
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
	for i := 0; i+1 < len(more); i += 2 {
		add(more[i], more[i+1])
	}
	if !q.who.cookies && !q.peek {
		add("v", rep.visitor)
		add("t", rep.ticket)
	}
	path = g.site.path + "/wait/" + string(q.item) + path
	if query != "" {
		path += "?" + query[1:]
	}
	return path
}

// show writes the page.
func (g *Gate) show(c *gin.Context, q *question, rep *reply, back, asked string) error {
	r, v := c.Request, rep.verdict
	d := g.data(r, q, asked)
	lang := ""
	if asked != "" {
		lang = d.Words.Lang
	}
	item := g.site.path + "/v1/items/" + string(q.item)
	d.Action, d.Reason, d.Drawn = string(v.action), string(v.reason), q.limits.Random && v.position == 0
	d.Status, d.Events = item+"/status", item+"/events"
	d.Position, d.Eta = v.position, v.eta
	if v.header.State == queue.Prequeue && v.header.OpensMS > 0 {
		d.OpensAt = time.UnixMilli(v.header.OpensMS)
	}
	if v.pass.EndsMS > 0 {
		d.PassUntil = time.UnixMilli(v.pass.EndsMS)
	}
	if !q.who.cookies {
		d.Visitor, d.Ticket = rep.visitor, rep.ticket
	}
	var more []string
	if joined := v.place.JoinedMS; v.action == Wait && joined > 0 {
		d.JoinedAt, d.Keeps = time.UnixMilli(joined), time.Duration(q.limits.TicketLifeMS())*time.Millisecond
		d.Reference = q.who.id().Ref()
		since := number(r, sinceParam)
		if d.Again = since > 0 && since != joined; !d.Again {
			d.Moved = int(min(100, number(r, wayParam)))
		}
		more = []string{sinceParam, strconv.FormatInt(joined, 10), wayParam, strconv.Itoa(d.Way())}
		d.Leave, d.Left = g.address(q, rep, "/leave", back, lang), g.address(q, rep, "/left", back, lang)
	}
	d.Self = g.address(q, rep, "", back, lang, more...)
	switch {
	case v.action == Wait:
		d.Refresh = v.poll
	case v.action == Reject && v.retryMS != never:
		d.Refresh = time.Duration(v.retryMS) * time.Millisecond
	}
	status := http.StatusOK
	if v.action != Pass {
		status = q.policy.WaitPage.Status
	}
	return g.writePage(c, status, d)
}

// data begins the page of a request.
func (g *Gate) data(r *http.Request, q *question, asked string) *page.Data {
	return &page.Data{
		Words: g.pages.Choose(asked, header(r, "Accept-Language")), Look: q.policy.WaitPage, Nonce: rand.Text(), Item: string(q.item), Now: q.now,
	}
}

func (g *Gate) writePage(c *gin.Context, status int, d *page.Data) error {
	h := c.Writer.Header()
	h["Content-Type"], h["Content-Language"], h["Content-Security-Policy"] = htmlType, []string{d.Words.Lang}, []string{d.Policy()}
	return squeeze(c, status, func(w io.Writer) error { return g.pages.Write(w, d) })
}

var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return z
}}

// squeeze writes a body, compressed where the browser takes that. What a page has in common with an address that somebody
// else may have chosen tells nothing: the secrets in it are those of the very request, or made for it.
func squeeze(c *gin.Context, status int, write func(io.Writer) error) error {
	if !strings.Contains(header(c.Request, "Accept-Encoding"), "gzip") {
		c.Writer.WriteHeader(status)
		return write(c.Writer)
	}
	c.Writer.Header()["Content-Encoding"] = gzipped
	c.Writer.WriteHeader(status)
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(c.Writer)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

// number gives a query parameter that is a number, 0 where it is none.
func number(r *http.Request, name string) int64 {
	text, _, _ := param(r, name)
	n, _ := strconv.ParseInt(text, 10, 64)
	return max(0, n)
}

// depart ends the visitor's place from the page, without a script, and leads to a page that says so.
func (g *Gate) depart(c *gin.Context) error {
	q, back, err := g.open(c, true)
	if err != nil {
		return err
	}
	if err := g.giveUp(c, q); err != nil {
		return err
	}
	lang, _, _ := param(c.Request, "lang")
	q.connector = number(c.Request, connectorParam) == 1
	h := c.Writer.Header()
	h["Location"] = []string{g.address(q, &reply{}, "/left", back, lang)}
	c.Writer.WriteHeader(http.StatusSeeOther)
	return nil
}

// left is the page of one who has left: it makes no place, and says how to come back.
func (g *Gate) left(c *gin.Context) error {
	q, back, err := g.open(c, false)
	if err != nil {
		return err
	}
	lang, _, _ := param(c.Request, "lang")
	pageHeaders(c.Writer.Header())
	d := g.data(c.Request, q, lang)
	q.connector = number(c.Request, connectorParam) == 1
	d.Action, d.Self = "left", g.address(q, &reply{}, "", back, lang)
	return g.writePage(c, http.StatusOK, d)
}
