package app_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/app"
)

// newMemoryRig starts one node whose line is in its process.
func newMemoryRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, 0)
	r.redis = nil
	r.start(0, nil)
	return r
}

// B137: a node without a store keeps places by tickets and passes by signatures over a restart.
func TestPlacesAndPassesOutliveARestartWithoutAStore(t *testing.T) {
	t.Parallel()
	r := newMemoryRig(t)
	r.activate("sku-1")
	r.must("POST", "/items/sku-1/inflow", map[string]any{"inflow_per_second": 0})
	visitors := make([]*visitor, 100)
	for k := range visitors {
		visitors[k] = r.visitor()
		visitors[k].check(0, "sku-1")
	}
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": 10})
	r.eventually(3*time.Second, "ten are let in", func() bool { return r.must("GET", "/items/sku-1", nil)["running"] == float64(10) })
	for _, v := range visitors[:10] {
		if a := v.status(0, "sku-1"); a.Action != "pass" {
			t.Fatalf("not let in: %+v", a)
		}
	}
	before := r.must("GET", "/items/sku-1", nil)
	r.nodes[0].stop()
	r.start(0, nil)
	after := r.must("GET", "/items/sku-1", nil)
	if after["state"] != "open" || after["generation"] != before["generation"] {
		t.Fatalf("after the restart: state %v, generation %v; before: %v", after["state"], after["generation"], before["generation"])
	}
	for k := len(visitors) - 1; k >= 10; k-- {
		if a := visitors[k].status(0, "sku-1"); a.Action != "wait" {
			t.Fatalf("visitor %d after the restart: %d %s/%s", k, a.Status, a.Action, a.Reason)
		}
	}
	for k, v := range visitors[10:] {
		if a := v.status(0, "sku-1"); a.position() != int64(k+1) {
			t.Errorf("visitor %d has position %d, want %d as before", k+10, a.position(), k+1)
		}
	}
	for _, v := range visitors[:10] {
		if a := v.check(0, "sku-1"); a.Reason != "pass_valid" {
			t.Errorf("a pass from before the restart: %s/%s", a.Action, a.Reason)
		}
	}
	r.must("POST", "/items/sku-1/deactivate", map[string]any{"confirm": "sku-1"})
	r.activate("sku-1")
	if again := r.must("GET", "/items/sku-1", nil); again["generation"].(float64) <= before["generation"].(float64) {
		t.Errorf("generation %v used again", again["generation"])
	}
}

func TestTwoNodesWithoutAStoreDoNotShareADataFolder(t *testing.T) {
	t.Parallel()
	r := newMemoryRig(t)
	_, err := app.New(context.Background(), app.Options{Config: r.config(0), Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("the second node started: %v", err)
	}
}

func TestANodeWithAnotherSecretDoesNotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	c := r.config(1)
	c.SecretKey = [][]byte{[]byte(strings.Repeat("x", 32))}
	_, err := app.New(context.Background(), app.Options{Config: c, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "--secret-key") {
		t.Errorf("the node started: %v", err)
	}
}
