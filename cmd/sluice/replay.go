package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/internal/replay"
	"github.com/sluicehq/sluice/internal/trace"
)

// replayCmd is `sluice replay`: what would have happened with these policies and that traffic.
type replayCmd struct {
	Traces      []string `arg:"" name:"trace" help:"CSV with the header t_ms,visitor,item (t_ms: ms since 1970), or an nginx or Apache access log (common or combined); .gz as it is. Several are one stream in order of time."`
	JSON        bool     `name:"json" help:"Print the report as JSON."`
	Set         []string `sep:"none" placeholder:"FIELD=VALUE" help:"A field of the policy, by its name in the admin API, such as inflow_per_second=5. Repeatable; over every policy of --policies."`
	Policies    string   `type:"existingfile" placeholder:"FILE" help:"YAML with policies by pattern: {policies: {\"concert-*\": {trigger_requests: 100}}}. What is not given has its default."`
	ItemPattern []string `sep:"none" placeholder:"PATTERN" help:"How a path of an access log becomes an item, such as /product/{item} or /sale=sale-1. Repeatable; a path that none matches is an item as a whole."`
	LeaveShare  float64  `default:"0" help:"Share of those in line, 0 to 1, who stop asking and leave after abandon_seconds (default ${default})."`
	NoShowShare float64  `default:"0" help:"Share of those let in, 0 to 1, who do not turn up and give the slot back after claim_seconds (default ${default})."`
}

// Run replays, and prints the report; bad lines and progress go to standard error.
func (c *replayCmd) Run(k *kong.Kong) error {
	for _, flag := range []struct {
		name  string
		share float64
	}{{"--leave-share", c.LeaveShare}, {"--no-show-share", c.NoShowShare}} {
		name, share := flag.name, flag.share
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("%s %g: it must be a number from 0 to 1", name, share)
		}
	}
	patterns, err := itempattern.ParseAll(c.ItemPattern)
	if err != nil {
		return err
	}
	var file []byte
	if c.Policies != "" {
		if file, err = os.ReadFile(c.Policies); err != nil {
			return err
		}
	}
	policies, err := replay.Policies(file, c.Set)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	show := newProgress(k.Stderr)
	t, err := trace.Read(c.Traces, trace.Options{Patterns: patterns, Progress: func(file string, lines int64) {
		show.line("reading %s: %d lines", file, lines)
	}})
	show.clear()
	if err != nil {
		return err
	}
	for _, p := range t.Problems {
		fmt.Fprintf(k.Stderr, "sluice: %s\n", p)
	}
	if len(t.Events) == 0 {
		return fmt.Errorf("no request is in %d file(s)", len(c.Traces))
	}
	report, err := replay.Run(ctx, t, replay.Options{
		Policies: policies, LeaveShare: c.LeaveShare, NoShowShare: c.NoShowShare,
		Progress: func(done, all int, atMS int64) {
			show.line("replaying: %d of %d requests, %s", done, all, time.UnixMilli(atMS).UTC().Format("2006-01-02 15:04"))
		},
	})
	show.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		return report.WriteJSON(k.Stdout)
	}
	return report.WriteText(k.Stdout)
}

// progress shows one line on a terminal that says how far a long command is, and nothing anywhere else.
type progress struct {
	to    io.Writer // nil = no terminal
	next  time.Time
	shown bool
}

// newProgress is silent for the first second: short commands need no progress.
func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &progress{to: w, next: time.Now().Add(time.Second)}
	}
	return &progress{}
}

func (p *progress) line(format string, args ...any) {
	if p.to == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(200 * time.Millisecond)
	p.shown = true
	fmt.Fprintf(p.to, "\r\x1b[K"+format, args...)
}

func (p *progress) clear() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
