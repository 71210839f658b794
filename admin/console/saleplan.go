package console

import (
	"net/http"
	"time"

	"github.com/sluicehq/sluice/scheduler/sale"
)

// planBody is what a sale will do, as it is saved or as a form has it.
type planBody struct {
	Form    bool // of a form that is being filled in
	Fill    bool // there is nothing to tell yet
	Faults  map[string]string
	Refused string // why it would not be saved
	Effects []string
	Notes   []sale.Note
	Steps   []planStep
	Ten     []planTime
	Repeats bool
	Zone    string
	Ask     []doubt // questions that the form does not hold yet, or no more where Key is ""
}

// planStep is one thing that happens.
type planStep struct {
	At     moment
	Kind   sale.Kind
	Inflow float64
	Past   bool
}

// planTime is one of the next times.
type planTime struct {
	Opens moment
	Moved bool
}

// planOf tells what a sale does.
func (c *Console) planOf(p *page, plan *sale.Plan) planBody {
	now := c.o.Clock.Now()
	v := c.o.Admin.PreviewSale(plan, now)
	b := planBody{Notes: v.Notes, Repeats: plan.Repeats(), Zone: plan.TimeZone}
	if v.Refusal != nil {
		b.Refused = p.faultText(v.Refusal)
	}
	for i, o := range v.Occurrences {
		b.Ten = append(b.Ten, planTime{momentOf(plan, time.Time(o.OpensAt).UnixMilli()), o.Moved})
		if i > 0 {
			continue
		}
		for _, s := range o.Steps {
			step := planStep{At: momentOf(plan, time.Time(s.At).UnixMilli()), Kind: s.Step, Past: !time.Time(s.At).After(now)}
			if s.InflowPerSecond != nil {
				step.Inflow = *s.InflowPerSecond
			}
			b.Steps = append(b.Steps, step)
		}
	}
	return b
}

// planOfForm tells what a sale would do if the form were saved.
func (c *Console) planOfForm(p *page, r readSale) planBody {
	b := planBody{Faults: r.faults}
	switch {
	case r.form["item"] == "" || r.form["opens_at"] == "":
		b.Fill = true
	case r.plan != nil:
		b = c.planOf(p, r.plan)
		b.Effects = c.saveEffects(p, r.plan)
	}
	b.Form = true
	return b
}

// showPlan is POST /sale/plan?id=: what will happen if the form is saved. It changes nothing. A page that asks for the
// part alone gets it, with questions about times that its form does not hold yet; the form's own fields stay.
func (c *Console) showPlan(p *page) error {
	if p.gin.GetHeader("HX-Request") == "" {
		b, _, _, err := c.sentSale(p)
		if err != nil {
			return err
		}
		return p.showSale(http.StatusOK, b)
	}
	form := p.form()
	if form.Get("name") == "" {
		form.Set("name", p.Text("sale.new")) // the last thing people think of
	}
	b, r, _, err := c.sentSale(p)
	if err != nil {
		return err
	}
	for _, field := range saleTimes {
		if d := r.doubts[field]; d.Key != form.Get(field+".asked") {
			d.Field = field
			b.Plan.Ask = append(b.Plan.Ask, d)
		}
	}
	html, err := p.part("sale", "plan-part", b)
	if err != nil {
		return err
	}
	p.gin.Data(http.StatusOK, "text/html; charset=utf-8", []byte(html))
	return nil
}

// First is the first thing that there is to tell, for screen readers.
func (b planBody) First(p *page) string {
	switch {
	case b.Fill:
		return p.Text("sale.fill_in")
	case len(b.Effects) > 0:
		return b.Effects[0]
	}
	return b.Refused
}
