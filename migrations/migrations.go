// Package migrations holds the SQL schema, step by step and for each kind of database, and runs the steps. A step is
// never changed once released; each must leave the program of the version before able to run.
package migrations

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// SQLite gives the provider that runs the steps on a SQLite database.
func SQLite(db *sql.DB) (*goose.Provider, error) {
	return provider(goose.DialectSQLite3, db, "sqlite")
}

// Postgres gives the provider that runs the steps on a Postgres database. Several may run them at once: one does, the
// others wait for at most five minutes.
func Postgres(db *sql.DB) (*goose.Provider, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300), lock.WithUnlockTimeout(1, 60))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return provider(goose.DialectPostgres, db, "postgres", goose.WithSessionLocker(locker))
}

func provider(dialect goose.Dialect, db *sql.DB, folder string, options ...goose.ProviderOption) (*goose.Provider, error) {
	steps, err := fs.Sub(files, folder)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	p, err := goose.NewProvider(dialect, db, steps, append(options, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}
