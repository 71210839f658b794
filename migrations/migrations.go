// Package migrations holds the SQL schema, step by step, and runs the steps. A step is never changed once released;
// each must leave the program of the version before able to run.
package migrations

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed sqlite/*.sql
var files embed.FS

// SQLite gives the provider that runs the steps on a SQLite database.
func SQLite(db *sql.DB) (*goose.Provider, error) {
	sub, err := fs.Sub(files, "sqlite")
	if err != nil {
		return nil, err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, sub, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}
