package migrations

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite"

	"github.com/sluicehq/sluice/internal/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Ending{M: m}.Run()) }

// database is one of the two kinds, empty.
type database struct {
	*sql.DB
	*goose.Provider
	tables string // a query for their names
}

func onBoth(t *testing.T, test func(t *testing.T, open func(t *testing.T) database)) {
	t.Helper()
	kinds := map[string]func(t *testing.T) database{
		"SQLite": func(t *testing.T) database {
			db := dial(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "db"))
			p, err := SQLite(db)
			if err != nil {
				t.Fatal(err)
			}
			return database{db, p, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`}
		},
		"Postgres": func(t *testing.T) database {
			db := dial(t, "pgx", postgrestest.Shared(t))
			p, err := Postgres(db)
			if err != nil {
				t.Fatal(err)
			}
			return database{db, p, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`}
		},
	}
	for kind, open := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

func dial(t *testing.T, driver, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// dump gives the content of all tables but goose's own, one line a row.
func (d database) dump(t *testing.T) string {
	t.Helper()
	var lines []string
	for _, table := range d.names(t) {
		rows, err := d.QueryContext(t.Context(), `SELECT * FROM `+table)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			line := table
			for i, column := range columns {
				line += fmt.Sprintf(" %s=%v", column, *values[i].(*any))
			}
			lines = append(lines, line)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (d database) names(t *testing.T) (names []string) {
	t.Helper()
	rows, err := d.QueryContext(t.Context(), d.tables)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if name != goose.DefaultTablename {
			names = append(names, name)
		}
	}
	return names
}

// fill puts what a program of this step may have written into its tables.
func (d database) fill(t *testing.T, step *goose.Source) {
	t.Helper()
	name := filepath.Base(step.Path)
	rows, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatalf("each step has a fixture of the rows it makes possible: %v", err)
	}
	for statement := range strings.SplitSeq(string(rows), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := d.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, statement)
		}
	}
}

// Data of each version of the schema gets to the newest and back, and nothing of it is lost on the way.
func TestEachVersionMigratesUpAndDown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(t *testing.T) database) {
		for _, from := range open(t).ListSources() {
			t.Run(fmt.Sprintf("from step %d", from.Version), func(t *testing.T) {
				d := open(t)
				for _, step := range d.ListSources() {
					if step.Version > from.Version {
						break
					}
					if _, err := d.UpTo(t.Context(), step.Version); err != nil {
						t.Fatal(err)
					}
					d.fill(t, step)
				}
				before := d.dump(t)
				for range 2 {
					if _, err := d.Up(t.Context()); err != nil {
						t.Fatal(err)
					}
					if _, err := d.DownTo(t.Context(), from.Version); err != nil {
						t.Fatal(err)
					}
					if after := d.dump(t); after != before {
						t.Fatalf("up and down made of\n%s\nthis:\n%s", before, after)
					}
				}
				if _, err := d.DownTo(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				if left := d.names(t); len(left) > 0 {
					t.Errorf("left after all steps down: %v", left)
				}
			})
		}
	})
}

// Both kinds have the same steps, tables and columns.
func TestBothKindsAreAlike(t *testing.T) {
	t.Parallel()
	shapes := make(chan string, 2)
	t.Run("both", func(t *testing.T) {
		onBoth(t, func(t *testing.T, open func(t *testing.T) database) {
			d := open(t)
			if _, err := d.Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			var shape []string
			for _, s := range d.ListSources() {
				shape = append(shape, s.Path)
			}
			for _, table := range d.names(t) {
				rows, err := d.QueryContext(t.Context(), `SELECT * FROM `+table)
				if err != nil {
					t.Fatal(err)
				}
				columns, _ := rows.Columns()
				rows.Close()
				shape = append(shape, table+": "+strings.Join(columns, ", "))
			}
			shapes <- strings.Join(shape, "\n")
		})
	})
	if len(shapes) < 2 {
		t.Skip("one kind alone was to be had")
	}
	if a, b := <-shapes, <-shapes; a != b {
		t.Errorf("one kind has\n%s\n\nthe other\n%s", a, b)
	}
}
