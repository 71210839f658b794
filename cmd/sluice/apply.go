package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/settingsfile"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// applyCmd brings policies and sales to what a file says; a running admin node takes the change over within a second.
type applyCmd struct {
	database
	File   string `short:"f" required:"" placeholder:"FILE" help:"YAML with policies and sales; - is standard input."`
	DryRun bool   `help:"Show what would change, and change nothing."`
	Prune  bool   `help:"Delete what the file leaves out: policies where it has policies, sales where it has sales."`
	JSON   bool   `name:"json" help:"One JSON object."`
}

// errDry undoes what a dry run has done.
var errDry = errors.New("dry run")

// Run applies the file.
func (c *applyCmd) Run(out io.Writer) error {
	f, err := c.read()
	if err != nil {
		return err
	}
	return c.with(func(ctx context.Context, s *sqlstore.Store) error {
		var changes []admin.Difference
		_, err := s.Change(ctx, func(tx *sqlstore.Tx) (err error) {
			changes, err = admin.Apply(tx, operator(), f, c.Prune, time.Now())
			if err == nil && c.DryRun {
				return errDry
			}
			return err
		})
		if misfit := (*settingsfile.Error)(nil); errors.As(err, &misfit) {
			return fmt.Errorf("%s: %w", c.File, misfit)
		}
		if err != nil && !errors.Is(err, errDry) {
			return err
		}
		if c.JSON {
			return json.NewEncoder(out).Encode(struct {
				DryRun  bool               `json:"dry_run"`
				Changes []admin.Difference `json:"changes"`
			}{c.DryRun, changes})
		}
		return c.show(out, changes)
	})
}

func (c *applyCmd) read() (settingsfile.File, error) {
	var raw []byte
	var err error
	if c.File == "-" {
		raw, err = io.ReadAll(os.Stdin)
	} else {
		raw, err = os.ReadFile(c.File)
	}
	if err != nil {
		return settingsfile.File{}, fmt.Errorf("--file: %w", err)
	}
	f, err := settingsfile.Parse(raw)
	if err != nil {
		return f, fmt.Errorf("%s: %w", c.File, err)
	}
	return f, nil
}

// show prints the difference, one line a field.
func (c *applyCmd) show(out io.Writer, changes []admin.Difference) error {
	for _, d := range changes {
		of := ""
		if d.Sale != nil {
			of = "sale " + *d.Sale
		} else {
			of = string(*d.Pattern)
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", of, d.Change); err != nil {
			return err
		}
		for _, f := range d.Fields {
			if _, err := fmt.Fprintf(out, "  %s: %s -> %s\n", f.Field, f.Before, f.After); err != nil {
				return err
			}
		}
	}
	end := "applied"
	switch {
	case len(changes) == 0:
		end = "nothing to change"
	case c.DryRun:
		end = "nothing changed: a dry run"
	}
	_, err := fmt.Fprintln(out, end)
	return err
}
