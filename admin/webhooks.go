package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/admin/webhook"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// BothSign is how long the secret before signs beside a new one, where nothing else is asked for; at most a week.
const BothSign = 24 * time.Hour

// WebhookView is a webhook without its secret, as it is answered and audited.
type WebhookView struct {
	ID          string   `json:"id"`
	URL         string   `json:"url"`
	Types       []string `json:"types"` // of events; empty = all
	Note        string   `json:"note"`
	CreatedAt   instant  `json:"created_at"`
	OldUntil    instant  `json:"old_secret_until"` // null = one secret alone signs
	DisabledAt  instant  `json:"disabled_at"`      // null = events are sent
	DisabledWhy *string  `json:"disabled_why"`
}

// viewWebhook is a webhook without what is secret.
func (a *Admin) viewWebhook(w sqlstore.Webhook) WebhookView {
	v := WebhookView{
		ID: w.ID, URL: w.URL, Types: append([]string{}, w.Types...), Note: w.Note, CreatedAt: instant(w.CreatedAt),
		DisabledAt: instant(w.DisabledAt), DisabledWhy: orNil(w.DisabledWhy),
	}
	if w.OldSecret != "" && a.o.Clock.Now().Before(w.OldUntil) {
		v.OldUntil = instant(w.OldUntil)
	}
	return v
}

// NewWebhook is a webhook as an operator asks for it.
type NewWebhook struct {
	URL   string   `json:"url"`
	Types []string `json:"types"` // of events; empty = all
	Note  string   `json:"note"`  // what it is for
}

func (n NewWebhook) validate() error {
	for _, typ := range n.Types {
		if !slices.Contains(EventTypes(), typ) {
			return problem.ErrInvalidBody.With("types must be of " + strings.Join(EventTypes(), ", ") + ".")
		}
	}
	if len(n.Note) > 200 {
		return problem.ErrInvalidBody.With("note must be a text of at most 200 bytes.")
	}
	return nil
}

// Webhooks lists all webhooks, oldest first.
func (a *Admin) Webhooks(ctx context.Context) ([]WebhookView, error) {
	all, err := a.o.Store.Webhooks(ctx)
	views := make([]WebhookView, 0, len(all))
	for _, w := range all {
		views = append(views, a.viewWebhook(w))
	}
	return views, err
}

// AddWebhook registers a webhook and gives its secret: the only time it is shown.
func (a *Admin) AddWebhook(ctx context.Context, by Identity, n NewWebhook) (v WebhookView, secret string, err error) {
	if err := n.validate(); err != nil {
		return v, "", err
	}
	if err := a.targets.Check(ctx, n.URL); err != nil {
		return v, "", err
	}
	slices.Sort(n.Types)
	secret = webhook.NewSecret()
	w := sqlstore.Webhook{URL: n.URL, Types: slices.Compact(n.Types), Note: n.Note, Secret: a.o.Keys.SealText(webhook.SecretPurpose, secret)}
	_, err = a.change(ctx, func(tx *sqlstore.Tx) error {
		made, err := tx.AddWebhook(w)
		if err != nil {
			return err
		}
		v = a.viewWebhook(made)
		return tx.Audit(Entry(by, "webhook.add", made.ID, "", nil, v))
	})
	return v, secret, err
}

// onWebhook does something to one webhook, and notes it in the audit.
func (a *Admin) onWebhook(ctx context.Context, by Identity, action, id string, do func(*sqlstore.Tx, sqlstore.Webhook) error) (v WebhookView, err error) {
	_, err = a.change(ctx, func(tx *sqlstore.Tx) error {
		before, err := tx.Webhook(id)
		if err != nil {
			return err
		}
		if err := do(tx, before); err != nil {
			return err
		}
		var after any
		if now, err := tx.Webhook(id); err == nil {
			v = a.viewWebhook(now)
			after = v
		} else if !errors.Is(err, sqlstore.ErrNotFound) {
			return err
		}
		return tx.Audit(Entry(by, action, id, "", a.viewWebhook(before), after))
	})
	return v, err
}

// DeleteWebhook takes a webhook away, with all that waits for it.
func (a *Admin) DeleteWebhook(ctx context.Context, by Identity, id string) error {
	_, err := a.onWebhook(ctx, by, "webhook.delete", id, func(tx *sqlstore.Tx, _ sqlstore.Webhook) error {
		_, err := tx.DeleteWebhook(id)
		return err
	})
	return err
}

// RotateWebhook gives a webhook another secret, shown this once. The one before signs beside it for a while.
func (a *Admin) RotateWebhook(ctx context.Context, by Identity, id string, both time.Duration) (v WebhookView, secret string, err error) {
	if both < 0 || both > 7*24*time.Hour {
		return v, "", problem.ErrInvalidBody.With("old_secret_seconds must be a whole number from 0 to 604800.")
	}
	secret = webhook.NewSecret()
	v, err = a.onWebhook(ctx, by, "webhook.rotate", id, func(tx *sqlstore.Tx, _ sqlstore.Webhook) error {
		return tx.RotateWebhookSecret(id, a.o.Keys.SealText(webhook.SecretPurpose, secret), a.o.Clock.Now().Add(both))
	})
	return v, secret, err
}

// EnableWebhook has events sent to a webhook again that was disabled; those that happened meanwhile are not.
func (a *Admin) EnableWebhook(ctx context.Context, by Identity, id string) (WebhookView, error) {
	return a.onWebhook(ctx, by, "webhook.enable", id, func(tx *sqlstore.Tx, _ sqlstore.Webhook) error { return tx.EnableWebhook(id) })
}

// TestWebhook sends one event of the type webhook.test at once, and tells what came of it. It is not tried again.
func (a *Admin) TestWebhook(ctx context.Context, by Identity, id string) (webhook.Result, error) {
	w, err := a.o.Store.Webhook(ctx, id)
	if err != nil {
		return webhook.Result{}, err
	}
	e := webhook.Event{
		ID: webhook.NewID(), Type: webhook.Test, Source: webhook.Source(a.o.Settings.Now().Owner()), Time: a.o.Clock.Now(),
		Data: map[string]any{"by": by.Name},
	}
	body, err := e.Body()
	if err != nil {
		return webhook.Result{}, err
	}
	a.audit(ctx, Entry(by, "webhook.test", id, "", nil, nil))
	secrets, err := webhook.OpenSecrets(a.o.Keys, w, a.o.Clock.Now())
	if err != nil {
		return webhook.Result{Error: err.Error()}, nil
	}
	return a.sender.Send(ctx, w.URL, e.ID, body, secrets), nil
}

// Deliver sends to webhooks what is due, until ctx ends.
func (a *Admin) Deliver(ctx context.Context) { a.deliverer.Run(ctx) }

// DeadLetters is how many messages to webhooks were given up, on all nodes.
func (a *Admin) DeadLetters() int64 { return a.deliverer.DeadLetters() }

// letter is an event as it is queued for webhooks.
func letter(owner string, e Event) (sqlstore.Letter, error) {
	w := webhook.Event{Type: e.Type, Source: webhook.Source(owner), Subject: string(e.Item), Time: e.Time, Data: e.data()}
	switch {
	case e.Header != nil:
		w.ID = webhook.NameID(owner, e.Type, e.Item, e.Header.Generation, e.Header.Version)
		w.Sequence = e.Header.Version
	case e.Key != "":
		w.ID = webhook.NameID(owner, e.Type, e.Key)
	default:
		w.ID = webhook.NewID()
	}
	for _, of := range []string{"pattern", "sale"} {
		if changed, ok := e.Data[of]; ok && w.Subject == "" {
			w.Subject = fmt.Sprint(changed)
		}
	}
	body, err := w.Body()
	return sqlstore.Letter{Message: w.ID, Type: w.Type, Subject: w.Subject, Body: body, Lasts: webhook.Lasts}, err
}

// listWebhooks is GET /webhooks.
func (a *Admin) listWebhooks(c *gin.Context) error {
	views, err := a.Webhooks(c.Request.Context())
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, gin.H{"webhooks": views, "types": EventTypes()})
	return nil
}

// withSecret is a webhook in the one answer that shows its secret.
type withSecret struct {
	WebhookView
	Secret string `json:"secret"`
}

// postWebhook is POST /webhooks.
func (a *Admin) postWebhook(c *gin.Context) error {
	var body NewWebhook
	if err := problem.ReadJSON(c, &body); err != nil {
		return err
	}
	v, secret, err := a.AddWebhook(c.Request.Context(), who(c), body)
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, withSecret{v, secret})
	return nil
}

// deleteWebhook is DELETE /webhooks/{id}.
func (a *Admin) deleteWebhook(c *gin.Context) error {
	if err := a.DeleteWebhook(c.Request.Context(), who(c), c.Param("id")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// postRotate is POST /webhooks/{id}/rotate.
func (a *Admin) postRotate(c *gin.Context) error {
	var body struct {
		OldSecretSeconds *int64 `json:"old_secret_seconds"`
	}
	if err := problem.ReadOptionalJSON(c, &body); err != nil {
		return err
	}
	both := BothSign
	if s := body.OldSecretSeconds; s != nil {
		both = time.Duration(max(-1, min(*s, 1<<30))) * time.Second
	}
	v, secret, err := a.RotateWebhook(c.Request.Context(), who(c), c.Param("id"), both)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, withSecret{v, secret})
	return nil
}

// postEnable is POST /webhooks/{id}/enable.
func (a *Admin) postEnable(c *gin.Context) error {
	if err := problem.ReadOptionalJSON(c, &struct{}{}); err != nil {
		return err
	}
	v, err := a.EnableWebhook(c.Request.Context(), who(c), c.Param("id"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, v)
	return nil
}

// postTest is POST /webhooks/{id}/test. It answers once the receiver has, or 15 s have passed.
func (a *Admin) postTest(c *gin.Context) error {
	if err := problem.ReadOptionalJSON(c, &struct{}{}); err != nil {
		return err
	}
	r, err := a.TestWebhook(c.Request.Context(), who(c), c.Param("id"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, gin.H{"taken": r.Taken(), "status": orNil(r.Status), "error": orNil(r.Error), "took_ms": r.Took.Milliseconds()})
	return nil
}

// DeliveryView is a message to a webhook, as it is answered.
type DeliveryView struct {
	ID        int64           `json:"id"`
	Message   string          `json:"message"` // the webhook-id of each try
	Type      string          `json:"type"`
	Subject   *string         `json:"subject"`
	State     string          `json:"state"`
	Tries     int             `json:"tries"`
	Status    *int            `json:"status"` // HTTP status of the last try; null = there was no answer
	Error     *string         `json:"error"`
	CreatedAt instant         `json:"created_at"`
	TriedAt   instant         `json:"tried_at"`
	NextTryAt instant         `json:"next_try_at"`
	EndedAt   instant         `json:"ended_at"`
	Event     json.RawMessage `json:"event"`
}

func viewDelivery(d sqlstore.Delivery) DeliveryView {
	v := DeliveryView{
		ID: d.ID, Message: d.Message, Type: d.Type, Subject: orNil(d.Subject), State: d.State, Tries: d.Tries, Status: orNil(d.Status),
		Error: orNil(d.Error), CreatedAt: instant(d.CreatedAt), TriedAt: instant(d.TriedAt), EndedAt: instant(d.EndedAt), Event: d.Body,
	}
	if d.State == sqlstore.Pending {
		v.NextTryAt = instant(d.DueAt)
	}
	return v
}
