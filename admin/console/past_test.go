package console_test

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
)

// Who looks back finds what was done by whom, takes it away as a file, and sees how queues went.
func TestThePastIsToldAndExported(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.policy("looked-back", map[string]any{"inflow_per_second": 7})
	r.act("looked-back", "activate", map[string]any{"reason": "before the launch"})
	r.act("looked-on", "activate", nil)
	r.join("looked-on", 3)
	r.act("looked-on", "deactivate", map[string]any{"confirm": "looked-on"})
	p := r.as("vic", "viewer", browsertest.Options{})
	p.Go(r.console + "/audit?subject=looked-back")
	p.Has("before the launch")
	p.Go(r.console + "/audit")
	p.Fill("#subject", "looked-back")
	p.Press("\r")
	p.Eventually(`location.search.includes("subject=looked-back") && ![...document.querySelectorAll("tbody td")].some(e => e.textContent.includes("looked-on"))`)
	p.Click("tbody tr:nth-child(2) .tablet-up details summary") // the policy was changed first
	p.Has("inflow_per_second")
	file := browsertest.Evaluate[string](p, `fetch(document.getElementById("csv").href).then(r => r.text())`)
	if !strings.HasPrefix(file, "at,who,") || !strings.Contains(file, "item.activate,looked-back,before the launch") || strings.Contains(file, "looked-on") {
		t.Errorf("the file is %q", file)
	}
	p.Go(r.console + "/history")
	p.Eventually(`document.querySelectorAll("tbody tr").length >= 2`)
	p.Fill("#item", "looked-on")
	p.Press("\r")
	p.Eventually(`location.search.includes("item=looked-on") && document.querySelectorAll("tbody tr").length === 1`)
	p.Has("0 gave up") // the books of a queue that has ended
}
