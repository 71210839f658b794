package console

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/queue"
)

// deed is something an operator can do to a queue, as the page offers it.
type deed struct {
	action  queue.Action
	look    string       // of the button: main, bad, or ""
	undo    queue.Action // what takes it back; "" = nothing does
	confirm bool         // it ends what people have: the item's name goes along
}

// deeds are the actions, in the order of their buttons. The inflow has a form of its own.
var deeds = []deed{
	{action: queue.Activate, look: "main", undo: queue.Deactivate},
	{action: queue.Resume, look: "main", undo: queue.Pause},
	{action: queue.Pause, undo: queue.Resume},
	{action: queue.Admit},
	{action: queue.Drain},
	{action: queue.Deactivate, confirm: true},
	{action: queue.Close, look: "bad", confirm: true},
	{action: queue.Reset, look: "bad", confirm: true},
}

// deedLink is a button of the page.
type deedLink struct {
	Action, Look string
}

// deedsFor gives the buttons that mean something now.
func deedsFor(p *page, b itemBody) []deedLink {
	var links []deedLink
	for _, d := range deeds {
		if _, changes, err := b.Header.State.Next(d.action, b.Header.Draining); err != nil || !changes {
			continue
		}
		if b.Policy.Mode != queue.ModeAuto && (d.action == queue.Activate || d.action == queue.Deactivate) {
			continue // the policy fixes it
		}
		links = append(links, deedLink{string(d.action), d.look})
	}
	return links
}

// deedBody is what the dialog says before something is done.
type deedBody struct {
	itemBody
	Action  string
	Look    string
	Effects []string
	Final   bool  // nothing takes it back
	Ask     bool  // it takes a number of people
	Count   int64 // the number
}

// deedOf reads the action of the address.
func (p *page) deedOf() (queue.Item, deed, error) {
	item, err := p.itemOf()
	if err != nil {
		return "", deed{}, err
	}
	i := slices.IndexFunc(deeds, func(d deed) bool { return string(d.action) == problem.Param(p.gin, "action") })
	if i < 0 {
		return "", deed{}, problem.ErrNotFound
	}
	return item, deeds[i], nil
}

// askDeed is GET /items/{item}/do/{action}: what it will do, in words and with the numbers of now.
func (c *Console) askDeed(p *page) error {
	item, d, err := p.deedOf()
	if err != nil {
		return err
	}
	b := deedBody{itemBody: c.itemBody(p, item), Action: string(d.action), Look: d.look, Final: d.undo == "", Ask: d.action == queue.Admit, Count: 10}
	if _, changes, err := b.Header.State.Next(d.action, b.Header.Draining); err != nil || !changes && !b.Ask {
		return queue.ErrWrongState.With(p.Text("deed.too_late", "state", p.Text("state."+b.State)))
	}
	b.Effects = p.effects(d, b)
	p.Section, p.Title, p.Body = "items", p.Text("deed."+b.Action+".title", "item", item), b
	return p.showDialog("deed")
}

// showDialog answers with the page, or with its content alone where the dialog asks.
func (p *page) showDialog(name string) error {
	if p.gin.GetHeader("HX-Request") == "" {
		return p.show(http.StatusOK, name)
	}
	html, err := p.part(name, "ask", p.Body)
	if err != nil {
		return err
	}
	p.gin.Data(http.StatusOK, "text/html; charset=utf-8", []byte(html))
	return nil
}

// effects says what an action will do, one sentence each.
func (p *page) effects(d deed, b deedBody) []string {
	waiting, inside := b.Counts.Waiting, b.Counts.Running
	var out []string
	say := func(id string, values ...any) { out = append(out, p.Text(id, values...)) }
	count := func(id string, n int64, values ...any) { out = append(out, p.Count(id, n, values...)) }
	switch d.action {
	case queue.Activate:
		say("effect.activate.line", "inflow", b.Policy.InflowPerSecond)
		say("effect.activate.grace", "session", p.Seconds(b.Policy.SessionSeconds))
		say("effect.activate.until")
		if b.Header.State == queue.Prequeue {
			out = out[:0]
			count("effect.activate.prequeue", waiting, "inflow", b.Set)
		}
	case queue.Deactivate:
		count("effect.deactivate.waiting", waiting)
		if float64(waiting) > b.Set {
			say("effect.deactivate.flood", "inflow", b.Set)
		}
		say("effect.deactivate.armed", "n", float64(b.Policy.TriggerRequests)*b.Policy.ReleaseRatio, "window", p.Seconds(b.Policy.TriggerWindowSeconds))
	case queue.Drain:
		say("effect.drain.refused")
		if b.WaitOK {
			count("effect.drain.waiting", waiting, "wait", p.Span(b.Wait), "inflow", b.Set)
		} else {
			count("effect.drain.stuck", waiting)
		}
		say("effect.drain.off")
	case queue.Pause:
		count("effect.pause.waiting", waiting)
		say("effect.pause.join")
		count("effect.pause.inside", inside)
	case queue.Resume:
		count("effect.resume.waiting", waiting, "inflow", b.Set)
	case queue.Close:
		count("effect.close.waiting", waiting)
		say("effect.close.refused")
		count("effect.close.inside", inside)
	case queue.Reset:
		count("effect.reset.waiting", waiting)
		count("effect.reset.inside", inside)
	case queue.Admit:
		count("effect.admit.waiting", waiting)
		say("effect.admit.beyond", "inflow", b.Set)
		if b.Policy.MaxActiveUsers > 0 {
			say("effect.admit.room", "most", b.Policy.MaxActiveUsers)
		}
	}
	return out
}

// doDeed is POST /items/{item}/do/{action}.
func (c *Console) doDeed(p *page) error {
	item, d, err := p.deedOf()
	if err != nil {
		return err
	}
	form := p.form()
	o := admin.ItemOrder{Item: item, Action: d.action, Reason: form.Get("reason")}
	if d.confirm {
		o.Confirm = form.Get("confirm")
	}
	if d.action == queue.Admit {
		if o.Count, err = strconv.ParseInt(strings.TrimSpace(form.Get("count")), 10, 64); err != nil {
			return problem.ErrInvalidBody.With(p.Text("fault.count"))
		}
	}
	report, err := c.o.Admin.Act(p.gin.Request.Context(), p.Who, o)
	if err != nil {
		return err
	}
	did := url.Values{"done": {string(d.action)}}
	if report.Changed {
		if o.Count > 0 {
			did.Set("n", strconv.FormatInt(o.Count, 10))
		} else if d.confirm {
			did.Set("n", strconv.FormatInt(report.Left, 10))
		}
	}
	return p.redirect(itemPath(item) + "?" + did.Encode())
}

// form gives what was posted.
func (p *page) form() url.Values {
	if err := p.gin.Request.ParseForm(); err != nil {
		return url.Values{}
	}
	return p.gin.Request.PostForm
}

func itemPath(item queue.Item) string { return base + "/items/" + url.PathEscape(string(item)) }

// inflowForm is the slider of the page.
type inflowForm struct {
	Now      float64 // the number in force, as a form takes it
	Most     float64 // the end of the slider
	Step     float64
	Override bool // it was set by hand
	Policy   float64
	Says     []string
	Possible bool
}

func inflowFormOf(b itemBody) inflowForm {
	f := inflowForm{Now: b.Set, Override: b.Header.Override != nil, Policy: b.Policy.InflowPerSecond, Possible: b.On}
	f.Most = niceAbove(max(4*b.Set, 2*b.Policy.InflowPerSecond, 10))
	f.Step = f.Most / 200
	return f
}

// niceAbove gives the next of 1, 2, 5 times a power of ten.
func niceAbove(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 5, 10} {
		if n*unit >= v {
			return n * unit
		}
	}
	return 10 * unit
}

// Plain writes a number as forms and attributes take it.
func (p *page) Plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// inflowSays says in words what another inflow would do.
func (p *page) inflowSays(b itemBody, to float64) []string {
	waiting := b.Counts.Waiting
	if to == 0 {
		return []string{p.Count("inflow.none", waiting)}
	}
	out := []string{p.Text("inflow.change", "from", b.Set, "to", to)}
	if waiting > 0 {
		before, was := waitOf(queue.Header{State: queue.Open}, waiting, b.Set)
		after, _ := waitOf(queue.Header{State: queue.Open}, waiting, to)
		if was {
			out = append(out, p.Count("inflow.through", waiting, "after", p.Span(after), "before", p.Span(before)))
		} else {
			out = append(out, p.Count("inflow.through_from_none", waiting, "after", p.Span(after)))
		}
	}
	if b.Policy.MaxActiveUsers > 0 {
		out = append(out, p.Text("inflow.room", "most", b.Policy.MaxActiveUsers, "inside", b.Counts.Running+b.Counts.Reserved))
	}
	if b.Header.State != queue.Open {
		out = append(out, p.Text("inflow.later", "state", p.Text("state."+b.State)))
	}
	return out
}

// readInflow reads the number of the form; nil = that of the policy.
func (p *page) readInflow(text string) (*float64, error) {
	if text == "policy" {
		return nil, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0 && n <= queue.MaxNumber) {
		return nil, problem.ErrInvalidBody.With(p.Text("fault.inflow"))
	}
	return &n, nil
}

// askInflow is GET /items/{item}/inflow?to=: what it will do, in words.
func (c *Console) askInflow(p *page) error {
	item, err := p.itemOf()
	if err != nil {
		return err
	}
	b := c.itemBody(p, item)
	if to, err := p.readInflow(p.gin.Query("to")); err != nil {
		b.Inflow.Says = []string{p.Text("fault.inflow")}
	} else if to != nil {
		b.Inflow.Says = p.inflowSays(b, *to)
	}
	html, err := p.part("item", "says", b)
	if err != nil {
		return err
	}
	p.gin.Data(http.StatusOK, "text/html; charset=utf-8", []byte(html))
	return nil
}

// setInflow is POST /items/{item}/inflow.
func (c *Console) setInflow(p *page) error {
	item, err := p.itemOf()
	if err != nil {
		return err
	}
	to, err := p.readInflow(p.form().Get("to"))
	if err != nil {
		return err
	}
	report, err := c.o.Admin.Act(p.gin.Request.Context(), p.Who, admin.ItemOrder{Item: item, Action: queue.SetInflow, Inflow: to, Reason: p.form().Get("reason")})
	if err != nil {
		return err
	}
	was := "policy"
	if o := report.Before.Override; o != nil {
		was = p.Plain(*o)
	}
	did := url.Values{"done": {string(queue.SetInflow)}, "was": {was}, "now": {p.Plain(report.Header.Inflow)}}
	return p.redirect(itemPath(item) + "?" + did.Encode())
}

// done is what has just been done, with the way back.
type done struct {
	Text string
	Undo *undo // nil = there is none
}

// undo is the form that takes something back.
type undo struct {
	Action string // the address
	Label  string
	Fields map[string]string
	Ask    bool // it has consequences of its own: a link to the question, and no form
}

// readDone reads from the address what has just been done to an item.
func (p *page) readDone(b itemBody) *done {
	word := p.gin.Query("done")
	switch {
	case word == string(queue.SetInflow):
		return p.doneInflow(b)
	case word == "revoked":
		return &done{Text: p.Text("done.revoked")}
	}
	i := slices.IndexFunc(deeds, func(d deed) bool { return string(d.action) == word })
	if i < 0 {
		return nil
	}
	d := deeds[i]
	n, _ := strconv.ParseInt(p.gin.Query("n"), 10, 64)
	out := &done{Text: p.Count("done."+word, n)}
	if _, changes, err := b.Header.State.Next(d.undo, b.Header.Draining); d.undo != "" && err == nil && changes {
		out.Undo = &undo{
			Action: fmt.Sprintf("%s/do/%s", itemPath(b.Item), d.undo), Label: p.Text("undo." + word), Ask: d.undo == queue.Deactivate && b.Counts.Waiting > 0,
			Fields: map[string]string{"confirm": string(b.Item)},
		}
	}
	return out
}

func (p *page) doneInflow(b itemBody) *done {
	now, err := p.readInflow(p.gin.Query("now"))
	if err != nil || now == nil {
		return nil
	}
	out := &done{Text: p.Text("done.inflow", "n", *now)}
	was, err := p.readInflow(p.gin.Query("was"))
	if err != nil || !b.On {
		return out
	}
	u := undo{Action: itemPath(b.Item) + "/inflow", Label: p.Text("undo.inflow_policy", "n", b.Policy.InflowPerSecond), Fields: map[string]string{"to": "policy"}}
	if was != nil {
		u.Label, u.Fields = p.Text("undo.inflow", "n", *was), map[string]string{"to": p.Plain(*was)}
	}
	out.Undo = &u
	return out
}
