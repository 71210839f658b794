// Package sqlstore keeps what operators decide and what happened: settings, tokens, history, audit. It is never on a
// visitor's path. SQLite in the data folder; what a method has returned for stays after kill -9 and loss of power.
package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // and the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/migrations"
)

// FileName is that of the SQLite database in the data folder.
const FileName = "sluice.db"

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
}

// Store is an open database. Safe for use by many goroutines, beside other processes.
type Store struct {
	// One connection writes, so that writers of this process line up instead of finding the database locked.
	write, read *sql.DB
	clock       clock.Clock
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
	if o.URL != "" {
		return nil, errors.New("--database-url: Postgres is not available yet; leave it empty for SQLite in --data-dir")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("--data-dir: %w", err)
	}
	path := filepath.Join(o.Dir, FileName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would make it readable to all
	if err != nil {
		return nil, fmt.Errorf("--data-dir: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("--data-dir: %w", err)
	}
	s := &Store{clock: o.Clock}
	if s.clock == nil {
		s.clock = clock.System{}
	}
	// synchronous FULL: in WAL mode NORMAL may lose the last commits with the power.
	const pragmas = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
	name := "file:" + (&url.URL{Path: path}).EscapedPath()
	if s.write, err = sql.Open("sqlite", name+pragmas+"&_txlock=immediate"); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s.write.SetMaxOpenConns(1)
	if err := connect(s.write); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), s.write.Close())
	}
	if s.read, err = sql.Open("sqlite", name+pragmas+"&_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), s.write.Close())
	}
	s.read.SetMaxOpenConns(4)
	return s, nil
}

// connect makes the first connection, which turns a new file to WAL. SQLite refuses that at once, busy timeout or not,
// where another process is about to do the same: asking again is all it takes.
func connect(db *sql.DB) error {
	const patience, between = 5 * time.Second, 10 * time.Millisecond
	for end := time.Now().Add(patience); ; time.Sleep(between) {
		err := db.Ping()
		var of *sqlite.Error
		if busy := errors.As(err, &of) && of.Code()&0xff == sqlite3.SQLITE_BUSY; !busy || time.Now().After(end) {
			return err
		}
	}
}

func (s *Store) prepare(ctx context.Context, autoMigrate bool) error {
	p, err := migrations.SQLite(s.write)
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
		`INSERT INTO settings_meta (id, owner, version, switch) VALUES (1, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		strings.ToLower(rand.Text()), s.nowMS(), settings.Normal)
	if err != nil {
		return fmt.Errorf("name the database: %w", err)
	}
	return nil
}

// up runs the steps that are missing. Where another process ran them at the same time, that is as good.
func up(ctx context.Context, p *goose.Provider) error {
	if _, err := p.Up(ctx); err != nil {
		if pending, again := p.HasPending(ctx); again != nil || pending {
			return fmt.Errorf("bring the SQL schema up to date: %w", err)
		}
	}
	return nil
}

// Close ends all use.
func (s *Store) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return unavailable("ping", s.read.PingContext(ctx)) }

func (s *Store) nowMS() int64 { return s.clock.Now().UnixMilli() }

// unavailable makes a fault of a database's error: what was being done and the cause are for the log.
func unavailable(doing string, err error) error {
	if err == nil || fault.Code(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	return ErrUnavailable.Because(fmt.Errorf("%s: %w", doing, err))
}
