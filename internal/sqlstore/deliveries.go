package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"time"
)

// The states of a delivery.
const (
	Pending   = "pending"   // waits for its next try, or is being tried
	Delivered = "delivered" // taken by the receiver
	Dead      = "dead"      // given up; it can be sent again
)

// Delivery is a message on its way to one webhook.
type Delivery struct {
	ID        int64
	Webhook   string
	Message   string // its id, the same for each try
	Type      string
	Subject   string
	Body      []byte
	State     string
	Tries     int
	DueAt     time.Time // pending: the next try
	Until     time.Time // no try after it
	Status    int       // HTTP status of the last try; 0 = there was no answer
	Error     string    // why the last try failed; "" = it did not, or there was none
	TriedAt   time.Time // the last try; zero = none
	CreatedAt time.Time
	EndedAt   time.Time // delivered or dead; zero = neither yet
	lease     string
}

const deliveryColumns = `id, webhook_id, message, type, subject, body, state, tries, due_ms, until_ms, status, error, tried_ms, created_ms, ended_ms, lease`

func readDeliveries(ctx context.Context, q querier, query string, args ...any) ([]Delivery, error) {
	var all []Delivery
	err := each(ctx, q, query, args, func(rows *sql.Rows) error {
		var d Delivery
		var body string
		var due, until, tried, created, ended int64
		if err := rows.Scan(&d.ID, &d.Webhook, &d.Message, &d.Type, &d.Subject, &body, &d.State, &d.Tries, &due, &until, &d.Status,
			&d.Error, &tried, &created, &ended, &d.lease); err != nil {
			return err
		}
		d.Body = []byte(body)
		d.DueAt, d.Until, d.TriedAt, d.CreatedAt, d.EndedAt = fromMS(due), fromMS(until), fromMS(tried), fromMS(created), fromMS(ended)
		all = append(all, d)
		return nil
	})
	return all, err
}

// InOrderTries is how many tries of a message hold back the later ones of its subject. One that fails more often is
// overtaken, so that a message that its receiver never takes holds up nothing for longer than about a minute.
const InOrderTries = 4

// DueWebhooks lists the webhooks for which something is due and not being tried.
func (s *Store) DueWebhooks(ctx context.Context) ([]Webhook, error) {
	all, err := readWebhooks(ctx, s.read, `WHERE disabled_ms = 0 AND EXISTS (
		SELECT 1 FROM deliveries d WHERE d.webhook_id = webhooks.id AND d.state = 'pending' AND d.due_ms <= $1 AND d.lease_ms <= $1)`, s.nowMS())
	return all, unavailable("look for messages", err)
}

// ClaimDeliveries takes at most so many messages for a webhook that are due, oldest first, and keeps all others off them
// for the time of the lease. Who asks at the same time, on whichever node, gets others.
func (s *Store) ClaimDeliveries(ctx context.Context, webhook string, most int, lease time.Duration) ([]Delivery, error) {
	now := s.nowMS()
	// What makes a row free stands twice: in Postgres the outer one is looked at again once another claim has ended.
	all, err := readDeliveries(ctx, s.write, `UPDATE deliveries SET lease = $1, lease_ms = $2
		WHERE state = 'pending' AND lease_ms <= $3 AND id IN (
			SELECT d.id FROM deliveries d WHERE d.webhook_id = $4 AND d.state = 'pending' AND d.due_ms <= $3 AND d.lease_ms <= $3
				AND NOT EXISTS (SELECT 1 FROM deliveries o WHERE o.webhook_id = d.webhook_id AND o.state = 'pending'
					AND o.subject = d.subject AND o.id < d.id AND o.tries < $5)
			ORDER BY d.id LIMIT $6)
		RETURNING `+deliveryColumns,
		rand.Text(), now+lease.Milliseconds(), now, webhook, InOrderTries, most)
	return all, unavailable("claim messages", err)
}

// Tried notes what came of a try of a claimed message: its State, Status, Error and, where it is pending still, DueAt.
// It counts as a try, unless counts is false. Nothing happens where the lease has been lost to another node meanwhile.
func (s *Store) Tried(ctx context.Context, d Delivery, counts bool) error {
	one, ended := 1, int64(0)
	if !counts {
		one = 0
	}
	now := s.nowMS()
	if d.State != Pending {
		ended = now
	}
	return unavailable("note a try", s.exec(ctx, `UPDATE deliveries SET
			state = $1, status = $2, error = $3, due_ms = $4, tries = tries + $5, tried_ms = $6, ended_ms = $7, lease = '', lease_ms = 0
		WHERE id = $8 AND lease = $9 AND state = 'pending'`,
		d.State, d.Status, d.Error, unixMS(d.DueAt), one, now, ended, d.ID, d.lease))
}

// DeliveryFilter chooses deliveries of a webhook.
type DeliveryFilter struct {
	Webhook string
	State   string // "" = any
	Before  int64  // of a lower id: the cursor; 0 = from the newest
	Most    int
}

// Deliveries lists the messages of a webhook, newest first.
func (s *Store) Deliveries(ctx context.Context, f DeliveryFilter) ([]Delivery, error) {
	all, err := readDeliveries(ctx, s.read, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE webhook_id = $1 AND ($2 = '' OR state = $2) AND id < $3 ORDER BY id DESC LIMIT $4`,
		f.Webhook, f.State, orNone(f.Before), f.Most)
	return all, unavailable("list messages", err)
}

// Delivery gives one message of a webhook; ErrNotFound where there is none.
func (t *Tx) Delivery(webhook string, id int64) (Delivery, error) {
	found, err := readDeliveries(t.ctx, t.tx, `SELECT `+deliveryColumns+` FROM deliveries WHERE webhook_id = $1 AND id = $2`, webhook, id)
	if err != nil {
		return Delivery{}, err
	}
	if len(found) == 0 {
		return Delivery{}, ErrNotFound.With("There is no such delivery.")
	}
	return found[0], nil
}

// Resend has a message that has ended sent again at once, under its old id and for another span of tries.
func (t *Tx) Resend(id int64, lasts time.Duration) error {
	return t.exec(`UPDATE deliveries SET state = 'pending', tries = 0, due_ms = $1, until_ms = $2, ended_ms = 0, lease = '', lease_ms = 0
		WHERE id = $3 AND state <> 'pending'`, t.nowMS, t.nowMS+lasts.Milliseconds(), id)
}

// ResendDead has all dead letters of a webhook sent again, and tells how many there were.
func (t *Tx) ResendDead(webhook string, lasts time.Duration) (int64, error) {
	r, err := t.tx.ExecContext(t.ctx, `UPDATE deliveries SET state = 'pending', tries = 0, due_ms = $1, until_ms = $2, ended_ms = 0, lease = '', lease_ms = 0
		WHERE webhook_id = $3 AND state = 'dead'`, t.nowMS, t.nowMS+lasts.Milliseconds(), webhook)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// DeadLetters counts the messages that were given up.
func (s *Store) DeadLetters(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var n int64
	err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE state = 'dead'`).Scan(&n)
	return n, unavailable("count dead letters", err)
}

// DropDeliveries forgets messages delivered, or given up, before these instants.
func (s *Store) DropDeliveries(ctx context.Context, delivered, dead time.Time) error {
	return unavailable("drop messages", s.exec(ctx, `DELETE FROM deliveries
		WHERE state = 'delivered' AND ended_ms < $1 OR state = 'dead' AND ended_ms < $2`, unixMS(delivered), unixMS(dead)))
}
