package console

import (
	"net/http"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/settings"
)

// switchBody is what the page of the switch over all items shows.
type switchBody struct {
	Now     settings.Switch
	To      settings.Switch // asked for, to be confirmed; "" = nothing is
	Queues  int
	Waiting int64
	Others  []settings.Switch
}

// allItems is GET /switch?to=: the switch over all items, and what moving it would do.
func (c *Console) allItems(p *page) error {
	b := switchBody{Now: p.Switch(), To: settings.Switch(p.gin.Query("to"))}
	for _, s := range []settings.Switch{settings.Normal, settings.Pass, settings.Hold} {
		if s != b.Now {
			b.Others = append(b.Others, s)
		}
	}
	for _, r := range c.o.Readings.All() {
		if r.Header.On() {
			b.Queues++
			b.Waiting += r.Counts.Waiting
		}
	}
	p.Section, p.Title, p.Body = "switch", p.Text("switch.title"), b
	if b.To == "" {
		return p.show(http.StatusOK, "switch")
	}
	if !b.To.Valid() || !p.May("operator") {
		return problem.ErrForbidden
	}
	return p.showDialog("switch_ask")
}

// setAllItems is POST /switch.
func (c *Console) setAllItems(p *page) error {
	form := p.form()
	to := settings.Switch(form.Get("to"))
	if err := c.o.Admin.SetSwitch(p.gin.Request.Context(), p.Who, to, form.Get("confirm"), form.Get("reason")); err != nil {
		return err
	}
	return p.redirect(base + "/switch")
}
