package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// Activation is one generation of one item's queue.
type Activation struct {
	ID          int64
	Item        queue.Item
	Generation  queue.Generation
	Cause       queue.Cause
	By          string
	Grace       bool
	ActivatedAt time.Time
	ReleasedAt  time.Time     // zero = still on
	Reason      string        // of the release
	Counts      *queue.Counts // the books at the end; nil = not known
}

// Activated notes that a queue was turned on. However many nodes tell of it: one row (invariant one-activation).
func (t *Tx) Activated(h queue.Header) error {
	return t.exec(`INSERT INTO activations
		(item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts) VALUES ($1, $2, $3, $4, $5, $6, 0, '', '')
		ON CONFLICT (item, generation) DO NOTHING`,
		h.Item, h.Generation, h.Cause, h.By, h.Grace, h.ActivatedMS)
}

// Released notes that a queue was turned off; counts are its books, nil where whoever tells of it does not know them.
// The first word on the end stands, and the books are added by whoever has them.
func (t *Tx) Released(h queue.Header, at time.Time, reason string, counts *queue.Counts) error {
	books := ""
	if counts != nil {
		b, err := json.Marshal(counts)
		if err != nil {
			return err
		}
		books = string(b)
	}
	return t.exec(`INSERT INTO activations
		(item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (item, generation) DO UPDATE SET
			released_ms = CASE activations.released_ms WHEN 0 THEN excluded.released_ms ELSE activations.released_ms END,
			reason      = CASE activations.reason WHEN '' THEN excluded.reason ELSE activations.reason END,
			counts      = CASE activations.counts WHEN '' THEN excluded.counts ELSE activations.counts END`,
		h.Item, h.Generation, h.Cause, h.By, h.Grace, h.ActivatedMS, at.UnixMilli(), reason, books)
}

// HistoryFilter chooses activations. The zero value chooses all.
type HistoryFilter struct {
	Item     queue.Item
	From, To time.Time // activated in [From, To)
	Before   int64     // of a lower id: the cursor
	Most     int
}

// Activations lists the history, newest first.
func (s *Store) Activations(ctx context.Context, f HistoryFilter) ([]Activation, error) {
	var all []Activation
	err := each(ctx, s.read, `SELECT id, item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts FROM activations
		WHERE ($1 = '' OR item = $1) AND activated_ms >= $2 AND activated_ms < $3 AND id < $4
		ORDER BY id DESC LIMIT $5`,
		[]any{f.Item, unixMS(f.From), orNone(unixMS(f.To)), orNone(f.Before), f.Most},
		func(rows *sql.Rows) error {
			var a Activation
			var activated, released int64
			var counts string
			if err := rows.Scan(&a.ID, &a.Item, &a.Generation, &a.Cause, &a.By, &a.Grace, &activated, &released, &a.Reason, &counts); err != nil {
				return err
			}
			a.ActivatedAt, a.ReleasedAt = fromMS(activated), fromMS(released)
			if counts != "" {
				a.Counts = new(queue.Counts)
				if err := json.Unmarshal([]byte(counts), a.Counts); err != nil {
					return err
				}
			}
			all = append(all, a)
			return nil
		})
	return all, unavailable("read the history", err)
}

// AuditEntry is one write by an operator.
type AuditEntry struct {
	ID            int64
	At            time.Time // zero = when it is written
	Who           string    // name of the user or the token
	Via           string    // how who was known: session, token, bootstrap, command line
	Role          Role
	Address       string
	Action        string // "policy.put", "item.activate", …
	Subject       string // pattern, item, token id
	Reason        string
	Before, After string // JSON; "" = there was nothing
}

// Audit notes a write, as part of the change that it tells of.
func (t *Tx) Audit(e AuditEntry) error {
	at := t.nowMS
	if !e.At.IsZero() {
		at = e.At.UnixMilli()
	}
	return t.exec(`INSERT INTO audit (at_ms, who, via, role, address, action, subject, reason, before, after) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		at, e.Who, e.Via, e.Role, e.Address, e.Action, e.Subject, e.Reason, e.Before, e.After)
}

// Audit notes a write that happened elsewhere (in the store of the line).
func (s *Store) Audit(ctx context.Context, e AuditEntry) error {
	_, err := s.Change(ctx, func(t *Tx) error { return t.Audit(e) })
	return err
}

// AuditLog lists what was written, newest first: at most `most` entries of a lower id than before (0 = all).
func (s *Store) AuditLog(ctx context.Context, before int64, most int) ([]AuditEntry, error) {
	var all []AuditEntry
	err := each(ctx, s.read, `SELECT id, at_ms, who, via, role, address, action, subject, reason, before, after FROM audit
		WHERE id < $1 ORDER BY id DESC LIMIT $2`, []any{orNone(before), most},
		func(rows *sql.Rows) error {
			var e AuditEntry
			var at int64
			if err := rows.Scan(&e.ID, &at, &e.Who, &e.Via, &e.Role, &e.Address, &e.Action, &e.Subject, &e.Reason, &e.Before, &e.After); err != nil {
				return err
			}
			e.At = fromMS(at)
			all = append(all, e)
			return nil
		})
	return all, unavailable("read the audit", err)
}

// orNone is an upper bound: 0 bounds nothing.
func orNone(bound int64) int64 {
	if bound == 0 {
		return math.MaxInt64
	}
	return bound
}
