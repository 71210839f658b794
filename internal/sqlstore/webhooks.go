package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/internal/fault"
)

// MostWebhooks is how many there may be.
const MostWebhooks = 50

// ErrTooManyWebhooks is one webhook too many.
var ErrTooManyWebhooks = fault.New("invalid_body", "There are 50 webhooks, which is the most; delete one first.")

// Webhook is an address that is told of events.
type Webhook struct {
	ID          string
	URL         string
	Types       []string // of the events it is told of; none = all
	Note        string   // what it is for
	Secret      string   // sealed with the secret key
	OldSecret   string   // sealed; signs too until OldUntil; "" = none
	OldUntil    time.Time
	CreatedAt   time.Time
	DisabledAt  time.Time // since when nothing is sent; zero = it is in use
	DisabledWhy string
}

// Enabled reports whether events are sent to it.
func (w Webhook) Enabled() bool { return w.DisabledAt.IsZero() }

const webhookColumns = `id, url, types, note, secret, old_secret, old_until_ms, created_ms, disabled_ms, disabled_why`

// AddWebhook registers a webhook, whose id and time of creation it sets.
func (t *Tx) AddWebhook(w Webhook) (Webhook, error) {
	var n int
	if err := t.tx.QueryRowContext(t.ctx, `SELECT count(*) FROM webhooks`).Scan(&n); err != nil {
		return w, err
	}
	if n >= MostWebhooks {
		return w, ErrTooManyWebhooks
	}
	w.ID, w.CreatedAt = strings.ToLower(rand.Text()[:12]), fromMS(t.nowMS)
	types, err := json.Marshal(append([]string{}, w.Types...))
	if err != nil {
		return w, err
	}
	return w, t.exec(`INSERT INTO webhooks (`+webhookColumns+`) VALUES ($1, $2, $3, $4, $5, '', 0, $6, 0, '')`,
		w.ID, w.URL, string(types), w.Note, w.Secret, t.nowMS)
}

// Webhook gives one; ErrNotFound where there is none.
func (t *Tx) Webhook(id string) (Webhook, error) { return webhook(t.ctx, t.tx, id) }

// Webhook gives one; ErrNotFound where there is none.
func (s *Store) Webhook(ctx context.Context, id string) (Webhook, error) {
	w, err := webhook(ctx, s.read, id)
	return w, unavailable("read a webhook", err)
}

func webhook(ctx context.Context, q querier, id string) (Webhook, error) {
	found, err := readWebhooks(ctx, q, `WHERE id = $1`, id)
	if err != nil {
		return Webhook{}, err
	}
	if len(found) == 0 {
		return Webhook{}, ErrNotFound.With("There is no such webhook.")
	}
	return found[0], nil
}

// Webhooks lists all, oldest first.
func (s *Store) Webhooks(ctx context.Context) ([]Webhook, error) {
	all, err := readWebhooks(ctx, s.read, ``)
	return all, unavailable("list webhooks", err)
}

func readWebhooks(ctx context.Context, q querier, where string, args ...any) ([]Webhook, error) {
	var all []Webhook
	err := each(ctx, q, `SELECT `+webhookColumns+` FROM webhooks `+where+` ORDER BY created_ms, id`, args, func(rows *sql.Rows) error {
		var w Webhook
		var types string
		var oldUntil, created, disabled int64
		if err := rows.Scan(&w.ID, &w.URL, &types, &w.Note, &w.Secret, &w.OldSecret, &oldUntil, &created, &disabled, &w.DisabledWhy); err != nil {
			return err
		}
		w.OldUntil, w.CreatedAt, w.DisabledAt = fromMS(oldUntil), fromMS(created), fromMS(disabled)
		all = append(all, w)
		return json.Unmarshal([]byte(types), &all[len(all)-1].Types)
	})
	return all, err
}

// RotateWebhookSecret gives a webhook another secret; the one it had signs beside it until an instant.
func (t *Tx) RotateWebhookSecret(id, secret string, oldUntil time.Time) error {
	return t.exec(`UPDATE webhooks SET old_secret = secret, old_until_ms = $1, secret = $2 WHERE id = $3`, unixMS(oldUntil), secret, id)
}

// EnableWebhook has events sent to it again.
func (t *Tx) EnableWebhook(id string) error {
	return t.exec(`UPDATE webhooks SET disabled_ms = 0, disabled_why = '' WHERE id = $1`, id)
}

// DisableWebhook has nothing more sent to it; what waits for it becomes a dead letter.
func (t *Tx) DisableWebhook(id, why string) error {
	if err := t.exec(`UPDATE webhooks SET disabled_ms = $1, disabled_why = $2 WHERE id = $3 AND disabled_ms = 0`, t.nowMS, why, id); err != nil {
		return err
	}
	return t.exec(`UPDATE deliveries SET state = 'dead', error = $1, ended_ms = $2, lease = '', lease_ms = 0
		WHERE webhook_id = $3 AND state = 'pending'`, why, t.nowMS, id)
}

// DeleteWebhook removes a webhook with all that waits for it, and gives what it was.
func (t *Tx) DeleteWebhook(id string) (Webhook, error) {
	w, err := t.Webhook(id)
	if err != nil {
		return w, err
	}
	return w, t.exec(`DELETE FROM webhooks WHERE id = $1`, id)
}

// Letter is a message to all webhooks that want its type.
type Letter struct {
	Message string // its id; the same one is queued once for each webhook
	Type    string
	Subject string // messages of one subject are sent in order
	Body    []byte
	Lasts   time.Duration // how long it is tried
}

// Queue has a letter sent to each webhook that wants it, from now on.
func (t *Tx) Queue(l Letter) error {
	return t.exec(`INSERT INTO deliveries (webhook_id, message, type, subject, body, due_ms, until_ms, created_ms)
		SELECT id, $1, $2, $3, $4, $5, $6, $5 FROM webhooks
		WHERE disabled_ms = 0 AND (types = '[]' OR types LIKE $7)
		ON CONFLICT (webhook_id, message) DO NOTHING`,
		l.Message, l.Type, l.Subject, string(l.Body), t.nowMS, t.nowMS+l.Lasts.Milliseconds(), fmt.Sprintf(`%%%q%%`, l.Type))
}
