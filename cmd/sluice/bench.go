package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sluicehq/sluice/internal/bench"
)

// benchCmd runs the project's own load against nodes that it starts.
type benchCmd struct {
	Case  string `arg:"" enum:"all,crowd,surge" help:"crowd: a line on three nodes, one of them killed, from the visitors' side. surge: 20,000 checks/s on one item and 1,000,000 made-up items. all: each in turn."`
	Short bool   `help:"A form of seconds, with the same bounds where they can be told in that time."`
	JSON  bool   `name:"json" help:"One line of JSON for each case instead of a table."`
}

// Run runs the case and fails where something that was to hold did not. It needs redis-server in PATH.
func (c *benchCmd) Run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	names := []string{c.Case}
	if c.Case == "all" {
		names = bench.Names()
	}
	var missed []string
	for _, name := range names {
		report, err := bench.Run(ctx, name, bench.Options{Program: []string{program}, Environ: os.Environ(), Short: c.Short, Log: os.Stderr})
		if err != nil {
			return err
		}
		write := report.Table
		if c.JSON {
			write = report.JSON
		}
		if err := write(out); err != nil {
			return err
		}
		if !report.OK() {
			missed = append(missed, name)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("did not hold: %s", strings.Join(missed, ", "))
	}
	return nil
}
