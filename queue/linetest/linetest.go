// Package linetest is what every line must do: one suite for the line in Redis and the line in this process, and a
// state machine that compares the two. Its tests are the rules of docs/line.md, each by name.
package linetest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

// Line is the whole of a line, as queue/line.go lists it.
type Line interface {
	Ask(context.Context, queue.Item, []queue.Ask) (queue.Answers, error)
	Touch(context.Context, queue.Item, []queue.Beat) (queue.TouchReport, error)
	End(context.Context, queue.Item, queue.Ending) (queue.EndReport, error)
	Recall(context.Context, queue.Item, queue.RecallOrder) (queue.RecallReport, error)
	Step(context.Context, queue.Item, queue.StepOrder) (queue.StepReport, error)
	Switch(context.Context, queue.Item, queue.SwitchOrder) (queue.SwitchReport, error)
	Look(context.Context, queue.Item) (queue.Snapshot, error)
	Find(context.Context, queue.Item, queue.Visitor) (queue.Standing, error)
	FindRef(context.Context, queue.Item, string) (v queue.Visitor, found bool, err error)
	Positions(context.Context, queue.Item) (queue.Table, error)
	Head(context.Context, queue.Item, int) (queue.Head, error)
}

// New makes a line that goes by the clock and in which nothing is kept.
type New func(t *testing.T, c clock.Clock) Line

// test is one rule: its name is a sentence.
type test struct {
	name string
	run  func(*stand)
}

// Exercise runs every test on lines of newLine: a few seconds against a store at hand, and with CASES=full in the
// environment as long as the cases name.
func Exercise(t *testing.T, newLine New) {
	groups := []struct {
		name  string
		tests []test
	}{
		{"Places", places}, {"Admission", admission}, {"Silence", silence}, {"Stays", stays}, {"Inflow", inflow}, {"Room", roomTests},
		{"Draw", draw}, {"States", states}, {"Story", story}, {"Losses", losses}, {"Time", times}, {"Races", races},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.tests {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					s := newStand(t, newLine)
					c.run(s)
					s.balanced()
				})
			}
		})
	}
}

// long asks for the long forms: CASES=full in the environment.
var long = os.Getenv("CASES") == "full"

// noon is when the tests begin: the first instant of a sale.
var noon = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)
