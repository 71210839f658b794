package main

import (
	"context"
	"fmt"
	"io"

	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// migrateCmd moves the SQL schema from step to step.
type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Run the steps that are missing."`
	Down   migrateDownCmd   `cmd:"" help:"Undo the newest step, with everything it holds."`
	Status migrateStatusCmd `cmd:"" help:"List the steps."`
}

type (
	migrateUpCmd     struct{ database }
	migrateDownCmd   struct{ database }
	migrateStatusCmd struct{ database }
)

// database are the settings of the commands that work on the database alone.
type database struct {
	config.File     `embed:""`
	config.Database `embed:""`
}

func (d database) options() (sqlstore.Options, error) {
	url, dir, err := d.Database.Check()
	return sqlstore.Options{URL: string(url), Dir: dir}, err
}

// Run runs the steps that are missing.
func (c *migrateUpCmd) Run(out io.Writer) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	n, err := sqlstore.MigrateUp(context.Background(), o)
	if err != nil {
		return err
	}
	if n == 0 {
		_, err = fmt.Fprintln(out, "The schema is up to date.")
	} else {
		_, err = fmt.Fprintf(out, "Ran %d step(s); the schema is up to date.\n", n)
	}
	return err
}

// Run undoes the newest step.
func (c *migrateDownCmd) Run(out io.Writer) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	n, err := sqlstore.MigrateDown(context.Background(), o)
	if err != nil {
		return err
	}
	if n == 0 {
		_, err = fmt.Fprintln(out, "There is no step to undo.")
	} else {
		_, err = fmt.Fprintf(out, "Undid step %d.\n", n)
	}
	return err
}

// Run lists the steps, one a line.
func (c *migrateStatusCmd) Run(out io.Writer) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	steps, err := sqlstore.MigrateStatus(context.Background(), o)
	if err != nil {
		return err
	}
	for _, s := range steps {
		word := "pending"
		if s.Applied {
			word = "applied"
		}
		if _, err := fmt.Fprintf(out, "%-8s %s\n", word, s.Name); err != nil {
			return err
		}
	}
	return nil
}
