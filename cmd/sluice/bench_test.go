package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/bench"
	"github.com/sluicehq/sluice/internal/redisserver"
)

// TestBench runs the short form of the cases whose bounds hold on any machine against real processes: invariants
// exact-inflow, arrival-order, place-keeps and live-settings with a node that is killed, bounded and one-activation in a
// surge. How many milliseconds things take is for the full length, on a machine that does nothing else: CASES=full, or
// "sluice bench all".
func TestBench(t *testing.T) {
	if err := redisserver.Installed(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: %v", err)
	}
	program, environ := self(t)
	for _, name := range []string{"crowd", "surge"} { // one after the other: they measure
		t.Run(name, func(t *testing.T) {
			report, err := bench.Run(context.Background(), name, bench.Options{
				Program: []string{program}, Environ: environ, Short: os.Getenv("CASES") != "full", Log: t.Output(),
			})
			if err != nil || len(report.Rows) == 0 {
				t.Fatal(err)
			}
			for _, row := range report.Rows {
				if !row.OK && !(report.Short && row.Unit == "ms") {
					t.Errorf("%s: %v %s, want %s", row.Name, row.Value, row.Unit, row.Bound)
				}
			}
			var table strings.Builder
			_ = report.Table(&table)
			t.Log(table.String())
		})
	}
}
