package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluicehq/sluice/internal/demo"
)

// demoCmd shows everything on one machine in one process.
type demoCmd struct {
	Stay bool `help:"Keep shop and node running after the show, until Ctrl-C."`
}

// Run shows it. Ctrl-C ends it at any time, and is no error.
func (c *demoCmd) Run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	o := demo.Options{Out: out}
	if c.Stay {
		o.Stay = func(ctx context.Context) {
			fmt.Fprintln(out, "\nShop, waiting page and console stay open. Ctrl-C ends them.")
			<-ctx.Done()
		}
	}
	if err := demo.Run(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
