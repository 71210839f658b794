// Package bench is the project's own load: cases that start nodes and a store of their own, send a crowd at them, and
// say what was measured and what was to hold. One file holds one case.
package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Case is one thing to measure.
type Case struct {
	Name string
	Help string
	run  func(ctx context.Context, e *env) error
}

// Cases lists what there is to run.
func Cases() []Case {
	return []Case{
		{Name: "crowd", Help: "a crowd of 3,000 on three nodes: exact inflow, order of arrival, live changes, a node killed", run: crowd},
		{Name: "surge", Help: "20,000 checks/s on one item and 1,000,000 made-up items at once: memory, keys, one activation", run: surge},
		{Name: "check-off", Help: "a check with the queue off, against a bare gin server", run: checkOff},
		{Name: "join", Help: "a newcomer's check with the queue on, against the same", run: join},
		{Name: "pass", Help: "a check with a valid pass, against the same", run: passes},
		{Name: "far", Help: "a poll from far back in a line of 200,000, against the same", run: far},
		{Name: "near", Help: "a poll near the head of that line, against the same", run: near},
		{Name: "million", Help: "1,000,000 people join one item on one node, all go in at 20,000/s; 260,000 silent ones are swept out", run: million},
		{Name: "items", Help: "10,000 queues on three nodes, people going in at 1/s at each: lag of the steps, exact inflow", run: items},
		{Name: "storm", Help: "200,000 people poll as they are told, under a budget of polls", run: storm},
		{Name: "soak", Help: "five minutes of mixed traffic with short sessions: nothing piles up", run: soak},
		{Name: "positions", Help: "positions shown to far polls against the true ranks while people join, leave and go in", run: positions},
		{Name: "counts", Help: "30,000 checks/s over three nodes: counts of the window, who passes after the trip", run: counts},
		{Name: "telemetry", Help: "checks at a node that is scraped and traced, with a receiver, one that hangs and one that is down, against one that is not", run: watching},
		{Name: "replay", Help: "2,000,000 requests of a trace through detector and line", run: replays},
	}
}

// Names lists the cases' names.
func Names() []string {
	var names []string
	for _, c := range Cases() {
		names = append(names, c.Name)
	}
	return names
}

// Options say how to run a case. Program is required.
type Options struct {
	Program []string  // command line of sluice, to which "serve" and its flags are added
	Environ []string  // of the nodes; variables of sluice's own settings are left out
	Short   bool      // a form of seconds, for tests
	Target  string    // http://host:port of a server that runs already; check-off and join alone can do with one
	Log     io.Writer // progress, one line each; nil = none
}

// Run runs one case. An error means that it could not be run to its end; whether everything held is in the report.
func Run(ctx context.Context, name string, o Options) (Report, error) {
	i := slices.IndexFunc(Cases(), func(c Case) bool { return c.Name == name })
	if i < 0 {
		return Report{}, fmt.Errorf("no case %q: there are %s", name, strings.Join(Names(), ", "))
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	e := &env{Options: o, began: time.Now(), report: Report{Case: name, Short: o.Short}}
	before, known := stolen()
	err := Cases()[i].run(ctx, e)
	if after, _ := stolen(); known {
		e.report.note("processor time that the machine's host took away", (after - before).Seconds(), "s")
	}
	e.report.Seconds = time.Since(e.began).Seconds()
	if err != nil {
		return e.report, fmt.Errorf("bench %s: %w", name, err)
	}
	return e.report, nil
}

// env is what a case works with.
type env struct {
	Options
	began  time.Time
	report Report
}

// say reports progress.
func (e *env) say(format string, args ...any) {
	fmt.Fprintf(e.Log, "%6.1f s  %s\n", time.Since(e.began).Seconds(), fmt.Sprintf(format, args...))
}

// pick gives the short form's value or the full one's.
func pick[T any](short bool, full, shorter T) T {
	if short {
		return shorter
	}
	return full
}
