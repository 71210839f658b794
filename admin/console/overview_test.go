package console_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
)

// The overview finds and sorts without a page of its own being loaded, and shows what has changed meanwhile.
func TestTheOverviewIsLive(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.policy("item-07", map[string]any{"inflow_per_second": 0})
	for i := range 60 {
		r.act(fmt.Sprintf("item-%02d", i), "activate", nil)
	}
	r.join("item-07", 5)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	p := r.as("ann", "viewer", browsertest.Options{})
	p.Go(r.console + "/?q=item-")
	p.Has("1–50 of 60")
	p.Eventually(`document.querySelector("#rows tbody tr")?.id === "row-item-07"`) // the longest line first
	r.join("item-07", 4)
	p.Eventually(`document.querySelector("#row-item-07 td b")?.textContent === "9"`)
	p.Click("thead th:first-child a")
	p.Eventually(`document.querySelector("#rows tbody tr")?.id === "row-item-00"`)
	p.Fill("#q", "item-5")
	p.Has("1–10 of 10")
	p.Eventually(`location.search.includes("q=item-5")`)
	r.policy("rush", map[string]any{"trigger_requests": 60, "trigger_window_seconds": 10})
	r.crowd(ctx, &wg, "rush", 4, 100*time.Millisecond)
	p.Go(r.console + "/?state=rising")
	p.Eventually(`document.querySelector("#row-rush .state.rising")`)
}
