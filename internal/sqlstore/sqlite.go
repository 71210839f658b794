package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // and the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluicehq/sluice/migrations"
)

// FileName is that of the SQLite database in the data folder.
const FileName = "sluice.db"

// openSQLite opens the database in the data folder. One connection writes, so that writers of this process line up
// instead of finding the database locked; its transactions lock at their beginning, so that those of other processes
// wait for busy_timeout and never fail at an upgrade.
func openSQLite(o Options) (*Store, error) {
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
	s.steps = func() (*goose.Provider, error) { return migrations.SQLite(s.write) }
	// synchronous FULL: in WAL mode NORMAL may lose the last commits with the power.
	const pragmas = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
	name := "file:" + (&url.URL{Path: path}).EscapedPath()
	if s.write, err = o.openFile(name + pragmas + "&_txlock=immediate"); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s.write.SetMaxOpenConns(1)
	if err := connect(s.write); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), s.write.Close())
	}
	if s.read, err = o.openFile(name + pragmas + "&_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), s.write.Close())
	}
	s.read.SetMaxOpenConns(4)
	return s, nil
}

// file is an SQLite database, to be connected to.
type file struct {
	driver driver.Driver
	name   string
}

// Connect opens the file.
func (f file) Connect(context.Context) (driver.Conn, error) { return f.driver.Open(f.name) }

// Driver is that of SQLite.
func (f file) Driver() driver.Driver { return f.driver }

// openFile makes the database of a file; nothing is opened yet.
func (o Options) openFile(name string) (*sql.DB, error) {
	registered, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	return o.Connect(file{registered.Driver(), name}), registered.Close()
}

// connect makes the first connection, which turns a new file to WAL. SQLite refuses that at once, busy timeout or not,
// where another process is about to do the same: asking again is all it takes.
func connect(db *sql.DB) error {
	const between = 10 * time.Millisecond
	for end := time.Now().Add(patience); ; time.Sleep(between) {
		err := db.Ping()
		var of *sqlite.Error
		if busy := errors.As(err, &of) && of.Code()&0xff == sqlite3.SQLITE_BUSY; !busy || time.Now().After(end) {
			return err
		}
	}
}
