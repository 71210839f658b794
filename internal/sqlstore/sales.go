package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/sluicehq/sluice/scheduler/sale"
)

// PutSale writes a sale under its id. What would have been before now has not been missed.
func (t *Tx) PutSale(s sale.Sale) error {
	s.SinceMS = t.nowMS
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("sale %s: %w", s.ID, err)
	}
	t.changed = true
	return t.exec(`INSERT INTO sales (id, body, updated_ms) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET body = excluded.body, updated_ms = excluded.updated_ms`, s.ID, string(body), t.nowMS)
}

// DeleteSale removes a sale; where there is none nothing changes.
func (t *Tx) DeleteSale(id string) error {
	t.changed = true
	return t.exec(`DELETE FROM sales WHERE id = $1`, id)
}

// readSales reads all sales by id. A body that is no JSON is left to whoever reads the sale, so that one bad row keeps
// nobody from the others.
func readSales(ctx context.Context, q querier) ([]sale.Sale, error) {
	var all []sale.Sale
	err := each(ctx, q, `SELECT id, body FROM sales ORDER BY id`, nil, func(rows *sql.Rows) error {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			return err
		}
		var s sale.Sale
		if json.Unmarshal([]byte(body), &s) != nil {
			s = sale.Sale{}
		}
		s.ID = id
		all = append(all, s)
		return nil
	})
	return all, err
}

// SettleSale notes that nothing is left to be told of one time of a sale, by when it was to open, and reports whether
// that is news.
func (t *Tx) SettleSale(id string, opensMS int64) (bool, error) {
	got, err := t.tx.ExecContext(t.ctx, `INSERT INTO sale_settled (sale, opens_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, opensMS)
	if err != nil {
		return false, err
	}
	n, err := got.RowsAffected()
	return n == 1, err
}

// SalesFrom gives the instant (unix ms) from which on it is noted which times of sales are settled.
func (s *Store) SalesFrom(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var ms int64
	err := s.read.QueryRowContext(ctx, `SELECT sales_from_ms FROM settings_meta`).Scan(&ms)
	return ms, unavailable("read since when sales are followed", err)
}
