package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
)

// querier is what a read needs: a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Versions are those of what nodes hold in memory. Each rises with each change, whichever process made it.
type Versions struct {
	Settings int64 // policies, tokens, keys, the switch
	People   int64 // users and sessions
}

// Versions reads both.
func (s *Store) Versions(ctx context.Context) (Versions, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var v Versions
	err := s.read.QueryRowContext(ctx, `SELECT version, people FROM settings_meta`).Scan(&v.Settings, &v.People)
	return v, unavailable("read the versions", err)
}

// Settings reads all settings, as of one instant.
func (s *Store) Settings(ctx context.Context) (*settings.Settings, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, unavailable("read settings", err)
	}
	defer tx.Rollback() // read only
	got, err := readSettings(ctx, tx)
	return got, unavailable("read settings", err)
}

func readSettings(ctx context.Context, q querier) (*settings.Settings, error) {
	d := settings.Data{
		Policies:      map[queue.Pattern]queue.Policy{"*": queue.DefaultPolicy()}, // always exists
		ServiceTokens: map[settings.Hash]settings.ServiceToken{},
	}
	if err := q.QueryRowContext(ctx, `SELECT owner, version, switch FROM settings_meta`).Scan(&d.Owner, &d.Version, &d.Switch); err != nil {
		return nil, err
	}
	err := each(ctx, q, `SELECT pattern, body FROM policies`, nil, func(rows *sql.Rows) error {
		var pattern queue.Pattern
		var body string
		if err := rows.Scan(&pattern, &body); err != nil {
			return err
		}
		p, err := decodePolicy(pattern, body)
		if err != nil { // one bad row keeps nobody from the others
			d.Unread = append(d.Unread, err)
			return nil
		}
		d.Policies[pattern] = p
		return nil
	})
	if err != nil {
		return nil, err
	}
	tokens, err := readTokens(ctx, q, `WHERE role = $1`, Service)
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		d.ServiceTokens[t.Hash] = settings.ServiceToken{Name: t.Name, ExpiresMS: unixMS(t.ExpiresAt)}
	}
	if d.Sales, err = readSales(ctx, q); err != nil {
		return nil, err
	}
	if d.PassKeys, err = readPassKeys(ctx, q); err != nil {
		return nil, err
	}
	if d.Connector, err = readConnector(ctx, q); err != nil {
		return nil, err
	}
	return settings.New(d), nil
}

// decodePolicy reads a stored policy; fields that were added since have their defaults. The error is of one that the
// program has not written.
func decodePolicy(pattern queue.Pattern, body string) (queue.Policy, error) {
	p := queue.DefaultPolicy()
	err := json.Unmarshal([]byte(body), &p)
	if err == nil {
		err = p.Validate()
	}
	if err != nil {
		return queue.DefaultPolicy(), fmt.Errorf("policy %s: %w", pattern, err)
	}
	return p, nil
}

// Tx is a change under way. Nothing of it is seen before it is whole.
type Tx struct {
	ctx     context.Context
	tx      *sql.Tx
	nowMS   int64
	changed bool // settings
	people  bool // users or sessions
}

// Change runs f as one transaction, the only writer meanwhile, and gives the settings after it; nil where f changed
// none. The version rises if it did: to the time in ms, so that it also rises past a copy that a lost database has left
// in the store. Where f or the database fails nothing is changed.
func (s *Store) Change(ctx context.Context, f func(*Tx) error) (*settings.Settings, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, unavailable("begin a change", err)
	}
	defer tx.Rollback() // after Commit it does nothing
	if s.alone != "" {
		if _, err := tx.ExecContext(ctx, s.alone); err != nil {
			return nil, unavailable("begin a change", err)
		}
	}
	t := &Tx{ctx: ctx, tx: tx, nowMS: s.nowMS()}
	if err := f(t); err != nil {
		return nil, unavailable("change", err)
	}
	if t.changed {
		if err := t.exec(`UPDATE settings_meta SET version = CASE WHEN version < $1 THEN $1 ELSE version + 1 END`, t.nowMS); err != nil {
			return nil, unavailable("change", err)
		}
	}
	if t.people {
		if err := t.exec(`UPDATE settings_meta SET people = people + 1`); err != nil {
			return nil, unavailable("change", err)
		}
	}
	var after *settings.Settings
	if t.changed {
		if after, err = readSettings(ctx, tx); err != nil {
			return nil, unavailable("read the change", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, unsure(err)
	}
	return after, nil
}

// RaiseVersion makes the version higher than one that was seen: for a database put back from a backup, whose settings
// are to win over the newer copy that the store holds.
func (s *Store) RaiseVersion(ctx context.Context, above int64) (*settings.Settings, error) {
	return s.Change(ctx, func(t *Tx) error {
		t.changed = true
		return t.exec(`UPDATE settings_meta SET version = CASE WHEN version < $1 THEN $1 ELSE version END`, above)
	})
}

func (t *Tx) exec(query string, args ...any) error {
	_, err := t.tx.ExecContext(t.ctx, query, args...)
	return err
}

// Policy gives the policy written under exactly this pattern; "*" always exists. One that cannot be read is as the default.
func (t *Tx) Policy(p queue.Pattern) (queue.Policy, bool, error) {
	var body string
	err := t.tx.QueryRowContext(t.ctx, `SELECT body FROM policies WHERE pattern = $1`, p).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return queue.DefaultPolicy(), p == "*", nil
	}
	if err != nil {
		return queue.Policy{}, false, err
	}
	policy, _ := decodePolicy(p, body) // so that it can be deleted
	return policy, true, nil
}

// Settings gives the settings as this change has left them so far.
func (t *Tx) Settings() (*settings.Settings, error) { return readSettings(t.ctx, t.tx) }

// PutPolicy writes the policy of a pattern.
func (t *Tx) PutPolicy(p queue.Pattern, policy queue.Policy) error {
	body, err := json.Marshal(policy)
	if err != nil {
		return fmt.Errorf("policy %s: %w", p, err)
	}
	t.changed = true
	return t.exec(`INSERT INTO policies (pattern, body, updated_ms) VALUES ($1, $2, $3)
		ON CONFLICT (pattern) DO UPDATE SET body = excluded.body, updated_ms = excluded.updated_ms`, p, string(body), t.nowMS)
}

// DeletePolicy removes the policy of a pattern; "*" has its defaults from then on.
func (t *Tx) DeletePolicy(p queue.Pattern) error {
	t.changed = true
	return t.exec(`DELETE FROM policies WHERE pattern = $1`, p)
}

// SetSwitch moves the switch over all items.
func (t *Tx) SetSwitch(to settings.Switch) error {
	t.changed = true
	return t.exec(`UPDATE settings_meta SET switch = $1`, to)
}

// each runs a query and f on each row.
func each(ctx context.Context, q querier, query string, args []any, f func(*sql.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func unixMS(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMS(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
