package gate

import (
	"crypto/rand"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/knownuser"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

// errEvent refuses an item whose name a connector cannot carry.
var errEvent = queue.ErrInvalidItem.With("The item of a connector has 1 to 128 characters of A-Z a-z 0-9 -.")

// connectorParam marks the waiting page's own address as that of a visitor who came from a connector.
const connectorParam = "connector"

// connector is where a connector made for Queue-it sends a visitor who has to line up: the waiting page under the names
// that it uses.
func (g *Gate) connector(c *gin.Context) error {
	r := c.Request
	q, back, err := g.fromConnector(r)
	if err != nil {
		return err
	}
	lang, _, _ := param(r, "cid")
	return g.lineUp(c, q, back, lang)
}

// fromConnector reads an address of a connector: customer, item, target, and who asks.
func (g *Gate) fromConnector(r *http.Request) (q *question, back string, err error) {
	customer, _, err := param(r, "c")
	if err != nil {
		return nil, "", err
	}
	if err := g.isCustomer(customer); err != nil {
		return nil, "", err
	}
	event, _, err := param(r, "e")
	if err != nil {
		return nil, "", err
	}
	if !knownuser.ValidEvent(event) {
		return nil, "", errEvent
	}
	raw, _, err := param(r, "t")
	if err != nil {
		return nil, "", ErrReturn
	}
	q = g.ask(queue.Item(event))
	q.connector = true
	back, err = g.meet(r, q, raw, false)
	return q, back, err
}

// isCustomer refuses a customer id that is not the one set, and all while none is.
func (g *Gate) isCustomer(id string) error {
	switch own, _ := g.Connector(); {
	case own == "":
		return problem.ErrNotFound
	case id != own:
		return ErrInvalidParameter.With("c is not the customer id of this waiting room.")
	}
	return nil
}

// connected reports whether the visitor goes on to a site with a connector, and takes note of it for the page's own
// address.
func (g *Gate) connected(r *http.Request, q *question) bool {
	if !q.connector {
		id, _ := g.Connector()
		mark, named, err := param(r, connectorParam)
		q.connector = id != "" && err == nil && named && mark == "1" && knownuser.ValidEvent(string(q.item))
	}
	return q.connector
}

// withToken adds to an address the token by which the connector there knows that its visitor may enter.
func (g *Gate) withToken(address string, q *question, v *verdict) string {
	_, secret := g.Connector()
	t := knownuser.Token{
		Event: string(q.item), QueueID: knownuser.QueueID(string(q.item), string(q.who.id())),
		Until: time.UnixMilli(q.nowMS).Add(knownuser.Validity), Extendable: q.policy.SessionRenewal, Type: knownuser.Queue,
	}
	if !q.policy.SessionRenewal {
		left := q.policy.SessionSeconds
		if v.pass.EndsMS > 0 {
			left = (v.pass.EndsMS - q.nowMS) / 1000
		}
		t.Minutes = int(max(1, left/60)) // the connector counts in whole minutes, and never longer than the pass
	}
	switch {
	case q.policy.Mode == queue.ModeOff:
		t.Type = knownuser.Disabled
	case v.reason == QueueOff, v.reason == StoreDown:
		t.Type = knownuser.SafetyNet
	}
	return knownuser.Append(address, t.Sign(secret))
}

// connectorError is where a connector sends a visitor whose token it refused: a page that says why, with a way to line up
// again. It never goes there by itself, so that nobody runs in a circle.
func (g *Gate) connectorError(c *gin.Context) error {
	r, h := c.Request, c.Writer.Header()
	q, back, err := g.fromConnector(r)
	if err != nil {
		return err
	}
	lang, _, _ := param(r, "cid")
	d := g.pages.Error(lang, header(r, "Accept-Language"), problem.Param(c, "code"))
	d.Nonce = rand.Text()
	q.connector = true
	d.Again = g.address(q, &reply{item: q.item}, "", back, lang)
	pageHeaders(h)
	h["Content-Type"], h["Content-Language"], h["Content-Security-Policy"] = htmlType, []string{d.Words.Lang}, []string{d.Policy()}
	status := http.StatusOK
	if !d.Known {
		status = http.StatusNotFound
	}
	return squeeze(c, status, func(w io.Writer) error { return g.pages.WriteError(w, d) })
}

// connectorCancel ends what the browser's visitor has at one item, and sends the browser on.
func (g *Gate) connectorCancel(c *gin.Context) error {
	return g.cancel(c, problem.Param(c, "customer"), []string{problem.Param(c, "event")})
}

// connectorCancelAll is connectorCancel for a list of items.
func (g *Gate) connectorCancelAll(c *gin.Context) error {
	list, _, err := param(c.Request, "wrl")
	if err != nil {
		return err
	}
	return g.cancel(c, problem.Param(c, "customer"), knownuser.Events(list))
}

// mostCancelled is how many items one address cancels.
const mostCancelled = 20

func (g *Gate) cancel(c *gin.Context, customer string, events []string) error {
	if err := g.isCustomer(customer); err != nil {
		return err
	}
	if len(events) == 0 || len(events) > mostCancelled {
		return errEvent
	}
	raw, _, err := param(c.Request, "r")
	if err != nil {
		return ErrReturn
	}
	var questions []*question
	var origins []queue.Origin
	for _, event := range events {
		if !knownuser.ValidEvent(event) {
			return errEvent
		}
		q := g.ask(queue.Item(event))
		questions, origins = append(questions, q), append(origins, q.policy.ReturnOrigins...)
	}
	back, err := parseReturn(raw, g.site.origin, origins)
	if err != nil {
		return err
	}
	if jar := g.openJar(c.Request, &ticket.Jar{}, g.Clock.Now()); jar != nil && !peeks(c.Request) {
		for _, q := range questions {
			g.cancelOne(c, q, jar)
		}
		g.setJar(c.Writer.Header(), &caller{jar: jar})
	}
	if back == "" {
		c.Status(http.StatusNoContent)
		return nil
	}
	g.redirect(c, back)
	return nil
}

// cancelOne ends place or session at one item. Where the store is away the place ends by silence, and the pass is out of
// the browser's hands all the same.
func (g *Gate) cancelOne(c *gin.Context, q *question, jar *ticket.Jar) {
	q.who = &caller{jar: jar, visitor: &jar.Visitor, known: true, cookies: true}
	q.who.pass, _ = jar.Pass(q.item)
	q.who.ticket, _ = jar.Ticket(q.item)
	jar.Drop(q.item)
	kind := queue.Leave
	if q.who.pass.IssuedMS > 0 {
		kind = queue.Finish
		g.Beats.EndPass(q.item, q.who.id(), q.nowMS)
	}
	report, err := g.end(c.Request.Context(), q, kind)
	if err == nil && kind == queue.Finish {
		g.Beats.EndPass(q.item, q.who.id(), report.NowMS)
	}
}
