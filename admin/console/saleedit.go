package console

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// saleBody is what the page of one sale shows.
type saleBody struct {
	ID       string // "" = a new one
	Name     string
	Item     queue.Pattern
	Policy   queue.Pattern // that its items follow without it
	Phase    string
	Form     saleForm
	Faults   map[string]string
	Doubts   map[string]doubt
	Base     string // the sale that the form was made from, as JSON
	ETag     string
	All      bool // every field, not only those of marketing
	Saved    bool
	Gone     bool // somebody has deleted it since the form was made
	Conflict []conflict
	Changed  *sqlstore.AuditEntry
	Plan     planBody
}

// sale is GET /sale?id=: a sale with its form; without id the form of a new one.
func (c *Console) sale(p *page) error {
	id := p.gin.Query("id")
	if id == "" {
		if !p.May("marketer") {
			return problem.ErrForbidden
		}
		zone := p.ZoneName()
		b := c.saleBody(p, nil, sale.Form{Name: "", Item: queue.Pattern(p.gin.Query("item")), TimeZone: &zone})
		b.Plan.Fill = true
		return p.showSale(http.StatusOK, b)
	}
	plan := c.o.Settings.Now().Sales().Plan(id)
	if plan == nil {
		return problem.ErrNotFound
	}
	b := c.saleBody(p, plan, plan.Form())
	b.Saved = p.gin.Query("done") == "saved"
	b.Plan = c.planOf(p, plan)
	return p.showSale(http.StatusOK, b)
}

// saleBody gives the page of a sale; plan is as it is saved, nil = a new one, and f is what the form is made from.
func (c *Console) saleBody(p *page, plan *sale.Plan, f sale.Form) saleBody {
	raw, _ := json.Marshal(f) // texts and numbers: cannot fail
	b := saleBody{Name: f.Name, Item: f.Item, Form: saleFormOf(f), Base: string(raw), All: p.May("operator")}
	if plan != nil {
		b.ID, b.ETag, b.Phase = plan.ID, admin.ETag(plan.Form()), saleLineOf(plan, c.o.Clock.Now()).Phase
		b.Name, b.Item = plan.Name, plan.Item
	}
	b.Policy, _ = c.o.Settings.Now().For(queue.Item(b.Item))
	b.Doubts = p.readSaleForm(nil, b.ID, f).doubts
	return b
}

func (p *page) showSale(status int, b saleBody) error {
	p.Section, p.Title, p.Body = "sales", b.Name, b
	if b.ID == "" {
		p.Title = p.Text("sale.new")
	}
	return p.show(status, "sale")
}

// sentSale reads the form that was sent, and what it was made from.
func (c *Console) sentSale(p *page) (b saleBody, r readSale, was sale.Form, err error) {
	form, id := p.form(), p.gin.Query("id")
	if err := json.Unmarshal([]byte(form.Get("base")), &was); err != nil {
		return b, r, was, problem.ErrInvalidBody.Because(err)
	}
	var plan *sale.Plan
	if id != "" {
		plan = c.o.Settings.Now().Sales().Plan(id)
	}
	r = p.readSaleForm(form, id, was)
	b = c.saleBody(p, plan, was)
	b.Gone = id != "" && plan == nil
	b.ETag, b.Form, b.Faults, b.Doubts = form.Get("etag"), r.form, r.faults, r.doubts
	b.Plan = c.planOfForm(p, r)
	return b, r, was, nil
}

// saveSale is POST /sale?id=. What somebody else has saved since the form was made is not overwritten: the form comes back
// with both versions, and with what the two have not changed alike already put together.
func (c *Console) saveSale(p *page) error {
	b, r, was, err := c.sentSale(p)
	if err != nil {
		return err
	}
	if len(r.faults) > 0 {
		return p.showSale(http.StatusBadRequest, b)
	}
	body, err := json.Marshal(r.plan.Form())
	if err != nil {
		return err
	}
	ctx := p.gin.Request.Context()
	var saved *sale.Plan
	switch {
	case b.Gone:
		return p.showSale(http.StatusConflict, b)
	case b.ID == "":
		saved, err = c.o.Admin.AddSale(ctx, p.Who, body)
	default:
		saved, _, err = c.o.Admin.PutSale(ctx, p.Who, b.ID, body, []string{b.ETag})
	}
	switch fault.Code(err) {
	case "":
	case "stale_etag":
		return c.saleConflict(p, b, r, was)
	case "invalid_sale", "doubtful_time", "sale_overlap", "mode_fixed":
		r.refuse(p, err)
		return p.showSale(problem.Of(err).Status, b)
	}
	if err != nil {
		return err
	}
	return p.redirect(salePath(saved.ID) + "&done=saved")
}

// saleConflict puts together what two have changed.
func (c *Console) saleConflict(p *page, b saleBody, r readSale, was sale.Form) error {
	now := c.o.Settings.Now().Sales().Plan(b.ID)
	if now == nil {
		b.Gone, b.ID, b.ETag = true, "", ""
		return p.showSale(http.StatusConflict, b)
	}
	theirs, merged := saleFormOf(now.Form()), saleFormOf(r.plan.Form())
	conflicts := merge(merged, saleFormOf(was), theirs, saleFields())
	for _, field := range saleTimes {
		if merged[field] == theirs[field] {
			merged[field+".reading"] = theirs[field+".reading"]
		}
	}
	fresh := c.saleBody(p, now, now.Form())
	fresh.Form, fresh.Conflict = merged, conflicts
	read := p.readSaleForm(merged.values(), b.ID, now.Form())
	fresh.Faults, fresh.Doubts, fresh.Plan = read.faults, read.doubts, c.planOfForm(p, read)
	var err error
	if fresh.Changed, err = c.lastChange(p, "sale", b.ID); err != nil {
		return err
	}
	return p.showSale(http.StatusConflict, fresh)
}

// askDeleteSale is GET /sale/delete?id=.
func (c *Console) askDeleteSale(p *page) error {
	plan := c.o.Settings.Now().Sales().Plan(p.gin.Query("id"))
	if plan == nil {
		return problem.ErrNotFound
	}
	b := c.saleBody(p, plan, plan.Form())
	b.Plan.Effects = c.deletionEffects(p, plan)
	p.Section, p.Title, p.Body = "sales", p.Text("sale.delete_title", "name", plan.Name), b
	return p.showDialog("sale_delete")
}

// deleteSale is POST /sale/delete?id=.
func (c *Console) deleteSale(p *page) error {
	var match []string
	if tag := p.form().Get("etag"); tag != "" {
		match = []string{tag}
	}
	if err := c.o.Admin.DeleteSale(p.gin.Request.Context(), p.Who, p.gin.Query("id"), match); err != nil {
		return err
	}
	return p.redirect(base + "/sales?done=deleted")
}

// Ramp are the rows of the form, with some to spare.
func (b saleBody) Ramp() []rampRow {
	return append(rampRows(b.Form["ramp"]), make([]rampRow, 3)...)
}

// SaleField gives one field of the form of a sale.
func (p *page) SaleField(b saleBody, name string) formField {
	f := formField{Name: name, Value: b.Form[name], Fault: b.Faults[name], Step: "any", Min: "0"}
	if name == "repeat" {
		f.Choices = repeats
	}
	for _, n := range queue.Numbers() {
		if overridden+n.Field != name {
			continue
		}
		if f.Min, f.Max = p.Plain(n.Min), p.Plain(n.Max); n.Whole {
			f.Step = "1"
		}
		_, policy := p.c.o.Settings.Now().For(queue.Item(b.Item))
		f.Usual = p.Text("sale.override_hint", "usual", n.Of(policy))
	}
	if name == overridden+"order" {
		f.Choices = []string{"", "fifo", "random"}
	}
	return f
}

// More are the overrides of operators alone.
func (b saleBody) More() []string {
	var names []string
	for _, name := range overrideFields(true) {
		if !slices.Contains(overrideFields(false), name) {
			names = append(names, overridden+name)
		}
	}
	return names
}

// HasMore reports whether one of More is set.
func (b saleBody) HasMore() bool {
	return slices.ContainsFunc(b.More(), func(name string) bool { return b.Form[name] != "" || b.Faults[name] != "" })
}

// Others are the overrides that the form does not show, and leaves as they are.
func (b saleBody) Others() []string {
	var f sale.Form
	_ = json.Unmarshal([]byte(b.Base), &f) // written by saleBody
	var names []string
	for name := range overridesOf(f.Overrides) {
		if name != "wait_page" && !slices.Contains(overrideFields(b.All), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Rows numbers a row from 1.
func (p *page) Rows(i int) string { return strconv.Itoa(i + 1) }
