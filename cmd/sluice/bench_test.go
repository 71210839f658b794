package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/bench"
	"github.com/sluicehq/sluice/internal/redisserver"
)

// TestBench runs the short form of the cases whose bounds hold on any machine against real processes: invariants exact-inflow, arrival-order,
// place-keeps and live-settings with a node that is killed, bounded and one-activation in a surge. In full length:
// CASES=full, or "sluice bench all".
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
			var table strings.Builder
			_ = report.Table(&table)
			if err != nil || !report.OK() {
				t.Errorf("%v\n%s", err, table.String())
			}
			t.Log(table.String())
		})
	}
}
