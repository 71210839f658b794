package sqlstore

import (
	"context"
	"database/sql"
	"time"
)

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

// AuditFilter chooses audit entries. The zero value chooses all.
type AuditFilter struct {
	Who      string    // exactly
	Action   string    // "policy.put", or "policy" for all actions on policies
	Subject  string    // exactly
	From, To time.Time // at in [From, To)
	Before   int64     // of a lower id: the cursor
	Most     int
}

// AuditLog lists what was written, newest first.
func (s *Store) AuditLog(ctx context.Context, f AuditFilter) ([]AuditEntry, error) {
	var all []AuditEntry
	err := each(ctx, s.read, `SELECT id, at_ms, who, via, role, address, action, subject, reason, before, after FROM audit
		WHERE ($1 = '' OR who = $1) AND ($2 = '' OR action = $2 OR substr(action, 1, length($2) + 1) = $2 || '.')
		AND ($3 = '' OR subject = $3) AND at_ms >= $4 AND at_ms < $5 AND id < $6
		ORDER BY id DESC LIMIT $7`,
		[]any{f.Who, f.Action, f.Subject, unixMS(f.From), orNone(unixMS(f.To)), orNone(f.Before), f.Most},
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
