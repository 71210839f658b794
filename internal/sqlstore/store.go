// Package sqlstore keeps what operators decide and what happened: settings, tokens, history, audit. It is never on a
// visitor's path. SQLite in the data folder, or Postgres where several admin nodes share it; what a method has returned
// for stays after kill -9 and loss of power.
//
// Each query is written once, in what both databases understand: parameters are $1, $2, …; an upsert is ON CONFLICT;
// the greater of two is a CASE.
package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/settings"
)

// Faults of the database.
var (
	ErrUnavailable = fault.New("settings_unavailable", "The settings database cannot be reached; nothing was changed. Actions on items work.")
	ErrNotFound    = fault.New("not_found", "There is no such entry.")
	// ErrSchemaBehind is a refusal to run on a schema that lacks steps.
	ErrSchemaBehind = errors.New("the SQL schema is behind this program")
)

// Options says which database. The zero value of a field is its default.
type Options struct {
	URL         string      // --database-url; "" = SQLite in Dir
	Dir         string      // --data-dir, made where it is missing
	AutoMigrate bool        // bring the schema up to date, in place of ErrSchemaBehind
	Clock       clock.Clock // nil = clock.System
	// Connect makes the database of its driver's connector, for whoever watches the calls; nil = sql.OpenDB.
	Connect func(driver.Connector) *sql.DB
}

// patience is how long one method may take. A database that stopped in its tracks looks like one that is slow.
const patience = 5 * time.Second

// Store is an open database. Safe for use by many goroutines, beside other processes.
type Store struct {
	write, read *sql.DB // one and the same on Postgres
	clock       clock.Clock
	steps       func() (*goose.Provider, error)
	alone       string // a statement that makes a transaction the only writer; "" = it is from its beginning
}

// Open opens the database, checks its schema and gives it its owner id where it is new.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(o)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, o.AutoMigrate); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func open(o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Connect == nil {
		o.Connect = sql.OpenDB
	}
	if o.URL != "" {
		return openPostgres(o)
	}
	return openSQLite(o)
}

func (s *Store) prepare(ctx context.Context, autoMigrate bool) error {
	p, err := s.steps()
	if err != nil {
		return err
	}
	pending, err := p.HasPending(ctx)
	if err != nil {
		return fmt.Errorf("read the SQL schema's version: %w", err)
	}
	if pending && !autoMigrate {
		have, want, err := p.GetVersions(ctx)
		if err != nil {
			return fmt.Errorf("read the SQL schema's version: %w", err)
		}
		return fmt.Errorf("%w: it is at step %d of %d; run `sluice migrate up`, or start with --auto-migrate", ErrSchemaBehind, have, want)
	}
	if pending {
		if err := up(ctx, p); err != nil {
			return err
		}
	}
	_, err = s.write.ExecContext(ctx,
		`INSERT INTO settings_meta (id, owner, version, switch) VALUES (1, $1, $2, $3) ON CONFLICT (id) DO NOTHING`,
		strings.ToLower(rand.Text()), s.nowMS(), settings.Normal)
	if err == nil {
		_, err = s.write.ExecContext(ctx, `UPDATE settings_meta SET sales_from_ms = $1 WHERE sales_from_ms = 0`, s.nowMS())
	}
	if err != nil {
		return fmt.Errorf("name the database: %w", err)
	}
	return nil
}

// up runs the steps that are missing. Where another process runs them at the same time, which SQLite shows by a step
// that fails since it has been done, that is as good.
func up(ctx context.Context, p *goose.Provider) error {
	for {
		before, _, err := p.GetVersions(ctx)
		if err == nil {
			_, err = p.Up(ctx)
		}
		if err == nil {
			return nil
		}
		if after, _, again := p.GetVersions(ctx); again != nil || after == before {
			return fmt.Errorf("bring the SQL schema up to date: %w", err)
		}
	}
}

// Close ends all use.
func (s *Store) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return unavailable("ping", s.read.PingContext(ctx))
}

// exec runs one statement that is a change of its own.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.write.ExecContext(ctx, query, args...)
	return err
}

func (s *Store) nowMS() int64 { return s.clock.Now().UnixMilli() }

// unavailable makes a fault of a database's error: what was being done and the cause are for the log.
func unavailable(doing string, err error) error {
	if err == nil || fault.Code(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	return ErrUnavailable.Because(fmt.Errorf("%s: %w", doing, err))
}

// unsure is unavailable for a commit that was not answered: the change may have been made as a whole, or not at all.
func unsure(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return ErrUnavailable.With("The settings database stopped answering while it took the change. Read it again to see whether it was made.").
		Because(fmt.Errorf("commit a change: %w", err))
}
