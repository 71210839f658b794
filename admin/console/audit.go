package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// logShown is how many rows a page of the audit or of the history shows.
const logShown = 50

// span is the days that a page of the past is about, in the reader's zone.
type span struct {
	From, To string // as a date field has them; "" = no bound
	Fault    string
	from, to time.Time // [from, to)
}

func (p *page) span() (s span) {
	s.From, s.To = p.gin.Query("from"), p.gin.Query("to")
	day := func(text string, days int) (t time.Time) {
		if text == "" {
			return t
		}
		t, err := time.ParseInLocation(time.DateOnly, text, p.Zone)
		if err != nil {
			s.Fault = p.Text("fault.date")
			return time.Time{}
		}
		return t.AddDate(0, 0, days)
	}
	s.from, s.to = day(s.From, 0), day(s.To, 1) // the last day is meant with all its hours
	return s
}

func (p *page) before() int64 {
	n, _ := strconv.ParseInt(p.gin.Query("before"), 10, 64)
	return max(0, n)
}

// older is the address of the page after this one.
func (p *page) older(id int64) string {
	q := p.gin.Request.URL.Query()
	q.Set("before", strconv.FormatInt(id, 10))
	return p.gin.Request.URL.Path + "?" + q.Encode()
}

// auditBody is what the audit shows.
type auditBody struct {
	span
	Who, Action, Subject string
	Actions              []string
	Rows                 []sqlstore.AuditEntry
	Older                string
	CSV, JSON            string // where the same is as a file
}

// audited are what actions are about, the choices of the filter.
var audited = []string{"item", "policy", "sale", "switch", "webhook", "user", "token", "key"}

// audit is GET /audit?who=&action=&subject=&from=&to=&before=.
func (c *Console) audit(p *page) error {
	q := p.gin.Query
	b := auditBody{span: p.span(), Who: q("who"), Action: q("action"), Subject: q("subject"), Actions: audited}
	f := sqlstore.AuditFilter{Who: b.Who, Action: b.Action, Subject: b.Subject, From: b.from, To: b.to, Before: p.before(), Most: logShown + 1}
	var err error
	if b.Rows, err = c.o.Store.AuditLog(p.gin.Request.Context(), f); err != nil {
		return err
	}
	if len(b.Rows) > logShown {
		b.Rows = b.Rows[:logShown]
		b.Older = p.older(b.Rows[logShown-1].ID)
	}
	file := url.Values{"who": {b.Who}, "action": {b.Action}, "subject": {b.Subject}}
	for name, t := range map[string]time.Time{"from": b.from, "to": b.to} {
		if !t.IsZero() {
			file.Set(name, t.UTC().Format(time.RFC3339))
		}
	}
	b.CSV = base + "/api/v1/audit/export?format=csv&" + file.Encode()
	b.JSON = base + "/api/v1/audit/export?format=json&" + file.Encode()
	p.Section, p.Title, p.Body = "audit", p.Text("audit.title"), b
	return p.show(http.StatusOK, "audit")
}

// Indented writes JSON for people; "" for nothing.
func (p *page) Indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// pastBody is what the history shows.
type pastBody struct {
	span
	Item  string
	Rows  []sqlstore.Activation
	Older string
}

// past is GET /history?item=&from=&to=&before=: what queues were on, and how it went.
func (c *Console) past(p *page) error {
	b := pastBody{span: p.span(), Item: p.gin.Query("item")}
	f := sqlstore.HistoryFilter{From: b.from, To: b.to, Before: p.before(), Most: logShown + 1}
	status := http.StatusOK
	if b.Item != "" {
		item, err := queue.ParseItem(b.Item)
		if err != nil {
			b.Fault, status = p.faultText(err), problem.Of(err).Status
		}
		f.Item = item
	}
	if b.Fault == "" {
		var err error
		if b.Rows, err = c.o.Store.Activations(p.gin.Request.Context(), f); err != nil {
			return err
		}
	}
	if len(b.Rows) > logShown {
		b.Rows = b.Rows[:logShown]
		b.Older = p.older(b.Rows[logShown-1].ID)
	}
	p.Section, p.Title, p.Body = "history", p.Text("history.title"), b
	return p.show(status, "history")
}
