package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sluicehq/sluice/internal/bench"
)

// benchCmd measures.
type benchCmd struct {
	Run       benchRunCmd    `cmd:"" default:"withargs" help:"Run a case, or all, against nodes and a store that it starts."`
	Report    benchReportCmd `cmd:"" help:"Make the tables and plots of docs/benchmarks.md from what --json printed."`
	ServeBare benchBareCmd   `cmd:"" hidden:"" help:"The other side of the ratios: a bare gin server."`
}

// benchRunCmd runs the project's own load against nodes that it starts.
type benchRunCmd struct {
	Case   string `arg:"" help:"all, or one of: crowd, surge, check-off, join, pass, far, near, million, items, storm, soak, positions, counts, telemetry, replay. \"sluice bench run --help\" says what each is."`
	Short  bool   `help:"A form of seconds, with the same bounds where they can be told in that time."`
	JSON   bool   `name:"json" help:"One line of JSON for each case instead of a table."`
	Target string `placeholder:"URL" help:"A server that runs already, for check-off (its item bench-off) and join (its item bench-on, with the queue on). Without it the case starts what it needs."`
}

// Help lists the cases.
func (*benchRunCmd) Help() string {
	var b strings.Builder
	b.WriteString("Cases:\n")
	for _, c := range bench.Cases() {
		fmt.Fprintf(&b, "\n  %-10s %s", c.Name, c.Help)
	}
	return b.String()
}

// Run runs the case and fails where something that was to hold did not. It needs redis-server in PATH.
func (c *benchRunCmd) Run(out io.Writer) error {
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
		report, err := bench.Run(ctx, name, bench.Options{
			Program: []string{program}, Environ: os.Environ(), Short: c.Short, Target: c.Target, Log: os.Stderr,
		})
		if err != nil {
			if ctx.Err() != nil || c.Case != "all" {
				return err
			}
			fmt.Fprintf(os.Stderr, "sluice: %v\n", err) // the others can run all the same
			missed = append(missed, name)
			continue
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

// benchReportCmd makes the page.
type benchReportCmd struct {
	Results string `arg:"" type:"existingfile" help:"What --json printed; of several results of a case the last counts."`
	Page    string `placeholder:"FILE" help:"Put the tables into this page, between the lines made for them, and the plots into the folder bench beside it. Without it the tables are printed."`
}

// Run reads the results and writes.
func (c *benchReportCmd) Run(out io.Writer) error {
	f, err := os.Open(filepath.Clean(c.Results))
	if err != nil {
		return err
	}
	defer f.Close()
	reports, err := bench.ReadReports(f)
	if err != nil {
		return err
	}
	if c.Page == "" {
		return bench.Markdown(out, reports, "bench")
	}
	return bench.WritePage(c.Page, "bench", reports)
}

// benchBareCmd is the bare server, for the process that a case starts.
type benchBareCmd struct {
	Listen string `required:"" help:"host:port."`
	Bytes  int    `required:"" help:"Size of the answer."`
}

// Run serves until it is told to end.
func (c *benchBareCmd) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return bench.ServeBare(ctx, c.Listen, c.Bytes)
}
