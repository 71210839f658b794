package sqlstore

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/sluicehq/sluice/migrations"
)

// aloneInPostgres makes a transaction the only writer by the lock on the one row that counts writes. A node that holds
// it and is cut off from the database must not hold up the others, so its transaction is ended for it.
const aloneInPostgres = `SELECT set_config('idle_in_transaction_session_timeout', '5s', true) FROM settings_meta FOR UPDATE`

// openPostgres opens the database of o.URL; nothing is sent yet.
func openPostgres(o Options) (*Store, error) {
	cfg, err := pgx.ParseConfig(o.URL)
	if err != nil {
		// The library's text quotes parts of the address.
		return nil, errors.New("--database-url: is not an address of the form postgres://user:password@host/name")
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = patience
	}
	if _, named := cfg.RuntimeParams["application_name"]; !named {
		cfg.RuntimeParams["application_name"] = "sluice"
	}
	db := o.Connect(stdlib.GetConnector(*cfg))
	db.SetMaxOpenConns(8)
	db.SetConnMaxIdleTime(5 * time.Minute)
	db.SetConnMaxLifetime(time.Hour) // so that a moved or rebalanced database is found again
	s := &Store{write: db, read: db, clock: o.Clock, alone: aloneInPostgres}
	s.steps = func() (*goose.Provider, error) { return migrations.Postgres(db) }
	return s, nil
}
