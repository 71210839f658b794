package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"
)

// Step is one step of the schema.
type Step struct {
	Number  int64
	Name    string
	Applied bool
}

// MigrateUp runs all steps that are missing and gives their number.
func MigrateUp(ctx context.Context, o Options) (int, error) {
	var n int
	err := migrate(o, func(p *goose.Provider) error {
		done, err := p.Up(ctx)
		n = len(done)
		return err
	})
	return n, err
}

// MigrateDown undoes the newest step, with all that it holds, and gives its number; 0 where there is none left.
func MigrateDown(ctx context.Context, o Options) (int64, error) {
	var n int64
	err := migrate(o, func(p *goose.Provider) error {
		done, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if err == nil {
			n = done.Source.Version
		}
		return err
	})
	return n, err
}

// MigrateStatus lists all steps in order.
func MigrateStatus(ctx context.Context, o Options) ([]Step, error) {
	var steps []Step
	err := migrate(o, func(p *goose.Provider) error {
		all, err := p.Status(ctx)
		for _, s := range all {
			steps = append(steps, Step{Number: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied})
		}
		return err
	})
	return steps, err
}

func migrate(o Options, f func(*goose.Provider) error) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	p, err := s.steps()
	if err == nil {
		err = f(p)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
