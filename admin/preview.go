package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// previewed is how many occurrences a preview lists.
const previewed = 10

// Preview is what a sale will do and when.
type Preview struct {
	TimeZone    string                `json:"time_zone"`
	Notes       []sale.Note           `json:"notes"`
	Overlap     *string               `json:"overlap"` // why the sale would be refused; null = nothing stands against it
	Occurrences []PreviewedOccurrence `json:"occurrences"`

	Refusal error `json:"-"` // that Overlap tells
}

// PreviewedOccurrence is an occurrence with all that it does.
type PreviewedOccurrence struct {
	OccurrenceView
	OffAt instant    `json:"off_at"` // when the queue is gone; null without closes_at
	Steps []StepView `json:"steps"`
}

// StepView is one thing that happens.
type StepView struct {
	At              instant   `json:"at"`
	Local           string    `json:"local"` // as the zone's clocks show it, with their offset from UTC
	Step            sale.Kind `json:"step"`
	InflowPerSecond *float64  `json:"inflow_per_second"` // set by open and ramp
}

// previewSale is GET /sales/preview: the next ten occurrences of a sale whose fields stand in the query, from an instant
// on. With id it is the sale of that id, with the fields that stand in the query in place of its own; one that is empty
// is taken away. Without opens_at the repeat gives the first.
func (a *Admin) previewSale(c *gin.Context) error {
	from := a.o.Clock.Now()
	q := c.Request.URL.Query()
	if t, err := instantQuery(c, "from"); err != nil {
		return err
	} else if !t.IsZero() {
		from = t
	}
	p, err := a.previewed(q, from)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, a.PreviewSale(p, from))
	return nil
}

// PreviewSale lists what a sale does from an instant on.
func (a *Admin) PreviewSale(p *sale.Plan, from time.Time) Preview {
	now := a.o.Settings.Now()
	_, policy := now.For(queue.Item(p.Item)) // for a glob, that of the most specific pattern which matches its text
	policy = p.Override(policy)
	v := Preview{TimeZone: p.TimeZone, Notes: p.Notes(), Occurrences: []PreviewedOccurrence{}}
	if err := fits(now, p, from); err != nil {
		why := problem.Of(err).Detail
		v.Overlap, v.Refusal = &why, err
	}
	for _, o := range p.Upcoming(from.UnixMilli(), previewed) {
		view := PreviewedOccurrence{OccurrenceView: viewOccurrence(p, o)}
		for _, s := range p.Steps(o, policy.InflowPerSecond, time.Duration(policy.SessionSeconds)*time.Second) {
			step := StepView{At: msInstant(s.AtMS), Local: p.Local(s.AtMS), Step: s.Kind}
			if s.Kind == sale.Open || s.Kind == sale.Ramp {
				step.InflowPerSecond = &s.InflowPerSecond
			}
			if s.Kind == sale.Off {
				view.OffAt = step.At
			}
			view.Steps = append(view.Steps, step)
		}
		v.Occurrences = append(v.Occurrences, view)
	}
	return v
}

// previewed reads the sale of a query.
func (a *Admin) previewed(q url.Values, from time.Time) (*sale.Plan, error) {
	f, id := sale.Form{Name: "preview", Item: "*"}, q.Get("id")
	if id != "" {
		p := a.o.Settings.Now().Sales().Plan(id)
		if p == nil {
			return nil, errNoSale
		}
		f = p.Form()
	}
	optional := map[string]**string{"prequeue_at": &f.PrequeueAt, "closes_at": &f.ClosesAt, "time_zone": &f.TimeZone, "repeat": &f.Repeat}
	for name, values := range q {
		value := values[0]
		switch name {
		case "id", "from":
		case "name":
			f.Name = value
		case "item":
			f.Item = queue.Pattern(value)
		case "opens_at":
			f.OpensAt = value
		case "overrides":
			f.Overrides = json.RawMessage(value)
		case "ramp":
			f.Ramp = nil
			if err := problem.Decode(fmt.Appendf(nil, `{"ramp":%s}`, value), &struct {
				Ramp *[]sale.RampStep `json:"ramp"`
			}{&f.Ramp}); err != nil {
				return nil, err
			}
		default:
			field, ok := optional[name]
			if !ok {
				return nil, errParameter.With(fmt.Sprintf("%.40q is no parameter of a preview.", name))
			}
			*field = &value
			if value == "" && id != "" && name != "time_zone" {
				*field = nil
			}
		}
	}
	if f.OpensAt == "" {
		first, err := f.FirstAfter(from.Add(-time.Millisecond))
		if err != nil {
			return nil, err
		}
		f.OpensAt = first.UTC().Format(time.RFC3339Nano)
	}
	return f.Plan(id)
}
