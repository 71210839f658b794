package console

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// deliveriesShown is how many messages a page of a webhook shows.
const deliveriesShown = 50

// webhooksBody is what the pages of webhooks show.
type webhooksBody struct {
	Webhooks []sqlstore.Webhook
	Types    []string // of events
	Form     admin.NewWebhook
	Fault    string
	Secret   *secret // shown this once

	Hook       sqlstore.Webhook // of the page of one
	Said       string           // what came of what was just done
	State      string           // of the deliveries that are shown; "" = any
	States     []string
	Deliveries []sqlstore.Delivery
	Older      string // where the page of older ones is; "" = there are none
}

// Wants reports whether the form has a type of event ticked.
func (b webhooksBody) Wants(typ string) bool {
	for _, t := range b.Form.Types {
		if t == typ {
			return true
		}
	}
	return false
}

// webhooks is GET /webhooks.
func (c *Console) webhooks(p *page) error { return c.showWebhooks(p, http.StatusOK, webhooksBody{}) }

func (c *Console) showWebhooks(p *page, status int, b webhooksBody) error {
	var err error
	if b.Webhooks, err = c.o.Store.Webhooks(p.gin.Request.Context()); err != nil {
		return err
	}
	b.Types = admin.EventTypes()
	p.Section, p.Title, p.Body = "webhooks", p.Text("webhooks.title"), b
	return p.show(status, "webhooks")
}

// addWebhook is POST /webhooks.
func (c *Console) addWebhook(p *page) error {
	form := p.form()
	n := admin.NewWebhook{URL: form.Get("url"), Types: form["type"], Note: form.Get("note")}
	made, plain, err := c.o.Admin.AddWebhook(p.gin.Request.Context(), p.Who, n)
	if err != nil {
		of := problem.Of(err)
		if of.Status >= http.StatusInternalServerError {
			return err
		}
		problem.Note(p.gin, err)
		return c.showWebhooks(p, of.Status, webhooksBody{Form: n, Fault: p.faultText(err)})
	}
	return c.showWebhooks(p, http.StatusOK, webhooksBody{Secret: p.webhookSecret(made.URL, plain)})
}

func (p *page) webhookSecret(address, plain string) *secret {
	return &secret{Title: p.Text("webhooks.secret_for", "url", address), Hint: p.Text("webhooks.secret_hint"), Text: plain}
}

// webhook is GET /webhooks/{id}?state=&before=.
func (c *Console) webhook(p *page) error { return c.showWebhook(p, webhooksBody{}) }

func (c *Console) showWebhook(p *page, b webhooksBody) error {
	ctx, id := p.gin.Request.Context(), problem.Param(p.gin, "id")
	var err error
	if b.Hook, err = c.o.Store.Webhook(ctx, id); err != nil {
		return err
	}
	b.States = []string{sqlstore.Pending, sqlstore.Delivered, sqlstore.Dead}
	for _, s := range b.States {
		if p.gin.Query("state") == s {
			b.State = s
		}
	}
	before, _ := strconv.ParseInt(p.gin.Query("before"), 10, 64)
	b.Deliveries, err = c.o.Store.Deliveries(ctx, sqlstore.DeliveryFilter{Webhook: id, State: b.State, Before: max(0, before), Most: deliveriesShown + 1})
	if err != nil {
		return err
	}
	if len(b.Deliveries) > deliveriesShown {
		b.Deliveries = b.Deliveries[:deliveriesShown]
		b.Older = webhookPath(id) + "?" + url.Values{"state": {b.State}, "before": {strconv.FormatInt(b.Deliveries[deliveriesShown-1].ID, 10)}}.Encode()
	}
	p.Section, p.Title, p.Body = "webhooks", b.Hook.URL, b
	return p.show(http.StatusOK, "webhook")
}

func webhookPath(id string) string { return base + "/webhooks/" + url.PathEscape(id) }

// testWebhook is POST /webhooks/{id}/test: sends one message and shows what came of it.
func (c *Console) testWebhook(p *page) error {
	r, err := c.o.Admin.TestWebhook(p.gin.Request.Context(), p.Who, problem.Param(p.gin, "id"))
	if err != nil {
		return err
	}
	if !r.Taken() {
		return c.showWebhook(p, webhooksBody{Fault: p.Text("webhooks.test_failed", "why", r.Error)})
	}
	return c.showWebhook(p, webhooksBody{Said: p.Text("webhooks.test_taken", "status", strconv.Itoa(r.Status), "ms", r.Took.Milliseconds())})
}

// rotateWebhook is POST /webhooks/{id}/rotate.
func (c *Console) rotateWebhook(p *page) error {
	v, plain, err := c.o.Admin.RotateWebhook(p.gin.Request.Context(), p.Who, problem.Param(p.gin, "id"), admin.BothSign)
	if err != nil {
		return err
	}
	return c.showWebhook(p, webhooksBody{Secret: p.webhookSecret(v.URL, plain)})
}

// enableWebhook is POST /webhooks/{id}/enable.
func (c *Console) enableWebhook(p *page) error {
	id := problem.Param(p.gin, "id")
	if _, err := c.o.Admin.EnableWebhook(p.gin.Request.Context(), p.Who, id); err != nil {
		return err
	}
	return p.redirect(webhookPath(id))
}

// resendDead is POST /webhooks/{id}/resend: all dead letters.
func (c *Console) resendDead(p *page) error {
	n, err := c.o.Admin.ResendDead(p.gin.Request.Context(), p.Who, problem.Param(p.gin, "id"))
	if err != nil {
		return err
	}
	return c.showWebhook(p, webhooksBody{Said: p.Count("webhooks.resent", n)})
}

// resend is POST /webhooks/{id}/deliveries/{delivery}/resend.
func (c *Console) resend(p *page) error {
	delivery, err := strconv.ParseInt(problem.Param(p.gin, "delivery"), 10, 64)
	if err != nil || delivery < 1 {
		return problem.ErrNotFound
	}
	if err := c.o.Admin.Resend(p.gin.Request.Context(), p.Who, problem.Param(p.gin, "id"), delivery); err != nil {
		return err
	}
	return c.showWebhook(p, webhooksBody{Said: p.Count("webhooks.resent", 1)})
}

// askDeleteWebhook is GET /webhooks/{id}/delete.
func (c *Console) askDeleteWebhook(p *page) error {
	hook, err := c.o.Store.Webhook(p.gin.Request.Context(), problem.Param(p.gin, "id"))
	if err != nil {
		return err
	}
	p.Section, p.Title, p.Body = "webhooks", p.Text("webhooks.delete"), webhooksBody{Hook: hook}
	return p.showDialog("webhook_delete")
}

// deleteWebhook is POST /webhooks/{id}/delete.
func (c *Console) deleteWebhook(p *page) error {
	if err := c.o.Admin.DeleteWebhook(p.gin.Request.Context(), p.Who, problem.Param(p.gin, "id")); err != nil {
		return err
	}
	return p.redirect(base + "/webhooks")
}
