package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/config"
)

// Items are shared out among the nodes that move lines: a node that does not must have none, or its items stand still.
func TestANodeThatMovesNoLinesHasNoShareOfTheItems(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	cfg := r.config(1)
	cfg.Roles = config.Roles{Gate: true}
	gate, err := app.New(t.Context(), app.Options{Config: cfg, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
		defer cancel()
		if err := gate.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	until(time.Second) // several signs of life
	r.policy("*", map[string]any{"inflow_per_second": 20})
	for i := range 16 {
		item := fmt.Sprintf("sku-%d", i)
		r.activate(item)
		v := r.visitor()
		if a := v.check(0, item); a.Action != "wait" && a.Reason != "admitted" { // admitted at once where this took a while
			t.Fatalf("%s: %+v", item, a)
		}
		r.eventually(3*time.Second, item+" lets somebody in", func() bool { return v.status(0, item).Action == "pass" })
	}
}
