package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
)

// Every page, in both languages, both schemes of colours, on a desk and on a phone.
func TestEveryPageIsAccessible(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.user("seen", "operator")
	r.api(http.MethodPost, "/tokens", map[string]any{"name": "shop", "role": "service"})
	r.policy("shoe", map[string]any{"inflow_per_second": 1})
	for _, item := range []string{"shoe", "closed", "paused"} {
		r.act(item, "activate", nil)
	}
	r.join("shoe", 20)
	r.api(http.MethodPut, "/sales/seen", map[string]any{
		"name": "Seen", "item": "seen-*", "time_zone": "Europe/Berlin", "opens_at": "2030-10-26T02:30:00", "closes_at": "2030-10-26T04:00:00", "prequeue_at": "2030-10-26T02:00:00",
		"repeat": "30 2 * * *", "ramp": []map[string]any{{"after_seconds": 60, "inflow_per_second": 5}}, "overrides": map[string]any{"session_seconds": 60},
	})
	r.act("paused", "pause", nil)
	r.act("closed", "close", map[string]any{"confirm": "closed"})
	for _, look := range []struct {
		name string
		o    browsertest.Options
	}{
		{"desktop, light and dark, English", browsertest.Options{}},
		{"phone, dark, Korean", browsertest.Options{Width: 360, Height: 740, Phone: true, Dark: true, Lang: "ko", Zone: "Asia/Seoul"}},
	} {
		check := func(p *browsertest.Page, path string) {
			p.Go(r.console + path)
			p.Eventually(`document.getElementById("main")`)
			p.Accessible()
			if !look.o.Dark { // what is true of the document is true of it in the dark, but for the colours
				p.Dark(true)
				p.Readable()
				p.Dark(false)
			}
			// 360 px wide: nothing but a table in its own frame may be wider than the screen.
			if wide := browsertest.Evaluate[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
				t.Errorf("%s is %d px wider than the screen", path, wide)
			}
		}
		// Tabs side by side.
		const tabs = 2
		for tab := range tabs {
			t.Run(fmt.Sprintf("%s, tab %d", look.name, tab+1), func(t *testing.T) {
				t.Parallel()
				r := &rig{t, r.node}
				p := r.open(adminToken, look.o)
				p.Pardon("404")
				for i, path := range paths() {
					if i%tabs == tab {
						check(p, path)
					}
				}
				if tab == 0 {
					check(browsertest.Open(t, look.o), "/login")
				}
			})
		}
	}
}

// paths are those of all pages that can be looked at without more to know.
func paths() []string {
	return []string{
		"/", "/?state=closed", "/?q=nothing", "/items/shoe", "/items/closed", "/items/paused", "/items/quiet", "/items/shoe/visitor?q=abcdefghijklmnop&by=ref",
		"/items/shoe/do/pause", "/items/shoe/do/close", "/items/shoe/do/admit", "/policies", "/policy", "/policy?pattern=shoe", "/policy?pattern=new-*",
		"/policy/delete?pattern=shoe", "/switch", "/switch?to=hold", "/people", "/webhooks", "/integrate?item=shoe",
		"/sales", "/sales?q=nothing", "/sales/calendar?month=2030-10", "/sales/calendar?month=2001-02", "/sale", "/sale?id=seen", "/sale/delete?id=seen", "/history", "/history?item=shoe", "/audit", "/audit?who=nobody",
		"/nothing",
	}
}
