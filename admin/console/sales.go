package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/scheduler/sale"
)

// phases are the choices of the list's filter.
var phases = []string{"", "planned", "prequeue", "open", "over"}

// saleLine is one sale in the list.
type saleLine struct {
	*sale.Plan
	Phase  string
	Opens  moment // of the time that is on or next, else of the first
	Closes moment
	starts int64
}

// salesBody is the list of sales.
type salesBody struct {
	Q, Phase string
	Phases   []string
	Lines    []saleLine
	paging
}

// sales is GET /sales: those that are on first, then those to come in order of time, then those that are over.
func (c *Console) sales(p *page) error {
	query := p.gin.Request.URL.Query()
	b := salesBody{Q: strings.TrimSpace(query.Get("q")), Phase: query.Get("phase"), Phases: phases}
	now := c.o.Clock.Now()
	var lines []saleLine
	for _, plan := range c.o.Settings.Now().Sales().Plans() {
		l := saleLineOf(plan, now)
		if (b.Phase == "" || l.Phase == b.Phase) && strings.Contains(strings.ToLower(plan.Name+"\n"+string(plan.Item)), strings.ToLower(b.Q)) {
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(x, y saleLine) int {
		if a, b := rank(x), rank(y); a != b {
			return cmp.Compare(a, b)
		}
		if x.Phase == "over" { // the newest first
			return cmp.Compare(y.starts, x.starts)
		}
		return cmp.Compare(x.starts, y.starts)
	})
	n, _ := strconv.Atoi(query.Get("page"))
	b.Lines, b.paging = pageOf(lines, n, "/sales", query)
	p.Section, p.Title, p.Body = "sales", p.Text("sales.title"), b
	if query.Get("done") == "deleted" {
		p.Done = &done{Text: p.Text("sale.deleted")}
	}
	return p.show(http.StatusOK, "sales")
}

func saleLineOf(plan *sale.Plan, now time.Time) saleLine {
	o, ok := plan.At(now.UnixMilli())
	phase := phaseOf(o, now)
	if !ok {
		phase, o = "over", sale.Occurrence{PrequeueMS: plan.PrequeueMS, OpensMS: plan.OpensMS, ClosesMS: plan.ClosesMS}
	}
	return saleLine{
		Plan: plan, Phase: phase, Opens: momentOf(plan, o.OpensMS), Closes: momentOf(plan, o.ClosesMS), starts: o.StartMS(),
	}
}

// rank is where a sale stands in the list: on, to come, over.
func rank(l saleLine) int {
	switch l.Phase {
	case "open", "prequeue":
		return 0
	case "planned":
		return 1
	}
	return 2
}

func salePath(id string) string { return base + "/sale?" + url.Values{"id": {id}}.Encode() }

// moment is an instant of a sale, with the zone whose clocks it goes by. The zero value is none.
type moment struct {
	time.Time
	zone *time.Location
}

func momentOf(plan *sale.Plan, ms int64) moment {
	zone, err := sale.Zone(plan.TimeZone)
	if ms == 0 || err != nil { // checked when the plan was made
		return moment{}
	}
	return moment{time.UnixMilli(ms), zone}
}

// Zone is the name of the zone.
func (m moment) Zone() string { return m.zone.String() }

// There writes a moment as the clocks of the sale's zone show it.
func (p *page) There(m moment) string { return p.clock(m.Time, m.zone) }

// ForYou writes a moment as the reader's clocks show it; "" where they show the same.
func (p *page) ForYou(m moment) string {
	here := p.clock(m.Time, p.Zone)
	if here == p.There(m) {
		return ""
	}
	return here
}

// clock writes an instant with its weekday; with the offset from UTC where clocks are set back, so that the time comes
// twice.
func (p *page) clock(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	layout := "15:04"
	if t.Second() != 0 {
		layout = "15:04:05"
	}
	if _, twice := sale.Doubtful(t.Format(wallLayout), zone); twice {
		layout += "-07:00"
	}
	return p.Text("sale.clock", "day", p.Text("weekday."+strings.ToLower(t.Weekday().String())), "date", t.Format("2006-01-02"), "time", t.Format(layout))
}
