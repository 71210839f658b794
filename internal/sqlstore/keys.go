package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sluicehq/sluice/internal/settings"
)

// RotatePassKey makes the next key of passes and gives its number.
func (t *Tx) RotatePassKey() (settings.PassKey, error) {
	now, err := readPassKeys(t.ctx, t.tx)
	if err != nil {
		return settings.PassKey{}, err
	}
	made := settings.PassKey{Number: 2, CreatedMS: t.nowMS} // the first key needs no row
	if len(now) > 0 {
		made.Number = now[len(now)-1].Number + 1
	}
	t.changed = true
	return made, t.exec(`INSERT INTO pass_keys (number, created_ms) VALUES ($1, $2)`, made.Number, made.CreatedMS)
}

// DeletePassKey takes a key back.
func (t *Tx) DeletePassKey(number int64) error {
	t.changed = true
	return t.exec(`DELETE FROM pass_keys WHERE number = $1`, number)
}

// SetConnector sets customer id and sealed secret of the connector protocol; "" turns it off.
func (t *Tx) SetConnector(c settings.Connector) error {
	t.changed = true
	if c.CustomerID == "" {
		return t.exec(`DELETE FROM connector`)
	}
	return t.exec(`INSERT INTO connector (id, customer_id, secret) VALUES (1, $1, $2)
		ON CONFLICT (id) DO UPDATE SET customer_id = excluded.customer_id, secret = excluded.secret`, c.CustomerID, c.Sealed)
}

func readPassKeys(ctx context.Context, q querier) ([]settings.PassKey, error) {
	var all []settings.PassKey
	err := each(ctx, q, `SELECT number, created_ms FROM pass_keys ORDER BY number`, nil, func(rows *sql.Rows) error {
		var k settings.PassKey
		err := rows.Scan(&k.Number, &k.CreatedMS)
		all = append(all, k)
		return err
	})
	return all, err
}

func readConnector(ctx context.Context, q querier) (settings.Connector, error) {
	var c settings.Connector
	err := q.QueryRowContext(ctx, `SELECT customer_id, secret FROM connector`).Scan(&c.CustomerID, &c.Sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return settings.Connector{}, nil
	}
	return c, err
}
