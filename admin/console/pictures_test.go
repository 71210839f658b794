package console_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
)

var (
	pictures = flag.String("pictures", "", "write a picture of each page into this folder")
	only     = flag.String("only", "", "of these pages alone, by name, with a comma between")
	runFor   = flag.Duration("run-for", 3*time.Minute, "let a crowd come for so long before the pictures are taken")
)

// looks are the screens that pictures are taken of.
var looks = []struct {
	name string
	o    browsertest.Options
}{
	{"desktop-light", browsertest.Options{Width: 1280, Height: 800}},
	{"desktop-dark", browsertest.Options{Width: 1280, Height: 800, Dark: true}},
	{"phone-light", browsertest.Options{Width: 360, Height: 740, Phone: true}},
	{"phone-dark-ko", browsertest.Options{Width: 360, Height: 740, Phone: true, Dark: true, Lang: "ko", Zone: "Asia/Seoul"}},
	{"desktop-light-ko", browsertest.Options{Width: 1280, Height: 800, Lang: "ko", Zone: "Asia/Seoul"}},
}

// shown are the pages to take pictures of.
var shown = []struct{ name, path string }{
	{"overview", "/"},
	{"item", "/items/sneaker-42"},
	{"item-paused", "/items/concert-seoul"},
	{"deed", "/items/sneaker-42/do/close"},
	{"switch", "/switch"},
	{"policies", "/policies"},
	{"policy", "/policy?pattern=sneaker-*"},
	{"visitor", "/items/sneaker-42/visitor?by=user&q=nobody"},
	{"empty", "/?q=nothing-of-the-kind"},
	{"sales", "/sales"},
	{"calendar", "/sales/calendar"},
	{"sale-new", "/sale"},
	{"sale", "/sale?id=friday"},
	{"sale-running", "/sale?id=drop"},
	{"sale-delete", "/sale/delete?id=drop"},
	{"history", "/history"},
	{"audit", "/audit"},
	{"webhooks", "/webhooks"},
	{"integrate", "/integrate"},
	{"people", "/people"},
	{"error", "/nothing"},
}

// TestPictures takes pictures of all pages, on a node with a crowd, for people to look at.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("SKIPPED: takes pictures only with -pictures DIR")
	}
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	stage(ctx, r, &wg)
	pause(ctx, *runFor)
	t.Run("looks", func(t *testing.T) {
		for _, look := range looks {
			t.Run(look.name, func(t *testing.T) {
				t.Parallel()
				r := &rig{t, r.node}
				p := r.open(adminToken, look.o)
				p.Pardon("404")
				p.Go(r.console + "/") // writes the zone
				for _, s := range shown {
					if *only != "" && !strings.Contains(*only, s.name) {
						continue
					}
					p.Go(r.console + s.path)
					pause(ctx, 2500*time.Millisecond)
					name := filepath.Join(*pictures, fmt.Sprintf("%s-%s.png", s.name, look.name))
					if err := os.WriteFile(name, p.Picture(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	})
}

// stage makes a busy Friday: queues in every state, and people.
func stage(ctx context.Context, r *rig, wg *sync.WaitGroup) {
	r.policy("sneaker-*", map[string]any{"inflow_per_second": 6, "trigger_requests": 60, "trigger_window_seconds": 5, "session_seconds": 30, "max_active_users": 400})
	r.policy("concert-*", map[string]any{"inflow_per_second": 4, "session_seconds": 60, "order": "random"})
	r.policy("ticket-bts", map[string]any{"mode": "on", "inflow_per_second": 2})
	r.policy("console-5", map[string]any{"trigger_requests": 120})
	for i := range 8 {
		r.act(fmt.Sprintf("limited-%02d", i+1), "activate", nil)
		r.join(fmt.Sprintf("limited-%02d", i+1), 3*i)
	}
	r.act("concert-seoul", "activate", nil)
	r.join("concert-seoul", 40)
	r.act("concert-seoul", "pause", map[string]any{"reason": "sound check"})
	r.act("limited-03", "pause", nil)
	r.act("limited-04", "close", map[string]any{"confirm": "limited-04"})
	r.act("limited-05", "inflow", map[string]any{"inflow_per_second": 0})
	r.join("limited-05", 35)
	r.act("limited-05", "drain", nil)
	now := time.Now().UTC().Truncate(time.Minute)
	for i, name := range []string{"Winter coats", "Vinyl, second pressing", "Members first", "Last pairs"} {
		at := now.Add(time.Duration(i*29+3) * time.Hour)
		r.api("PUT", fmt.Sprintf("/sales/s%d", i), map[string]any{
			"name": name, "item": fmt.Sprintf("special-%d", i), "time_zone": "America/New_York", "opens_at": at, "closes_at": at.Add(90 * time.Minute), "overrides": map[string]any{"max_waiting": 5000},
		})
	}
	r.api("PUT", "/sales/over", map[string]any{"name": "Early birds", "item": "bird", "time_zone": "UTC", "opens_at": now.Add(-30 * time.Hour), "closes_at": now.Add(-29 * time.Hour)})
	r.api("PUT", "/sales/friday", map[string]any{
		"name": "Friday drop", "item": "drop-*", "time_zone": "Asia/Seoul", "prequeue_at": "2026-12-04T10:30:00", "opens_at": "2026-12-04T11:00:00", "closes_at": "2026-12-04T15:00:00",
		"repeat": "0 11 * * 5", "overrides": map[string]any{"inflow_per_second": 20, "order": "random", "wait_page": map[string]any{"title": map[string]any{"en": "The Friday drop"}}},
		"ramp": []map[string]any{{"after_seconds": 60, "inflow_per_second": 50}, {"after_seconds": 600, "inflow_per_second": 100}},
	})
	r.api("PUT", "/sales/drop", map[string]any{
		"name": "Lightstick restock", "item": "lightstick", "time_zone": "Europe/Berlin", "prequeue_at": now.Add(-5 * time.Minute), "opens_at": now.Add(2 * time.Hour), "closes_at": now.Add(5 * time.Hour),
	})
	for i, name := range []string{"ada", "bob", "mina", "kim"} {
		r.user(name, []string{"admin", "operator", "marketer", "viewer"}[i])
	}
	r.api("POST", "/tokens", map[string]any{"name": "the shop's servers", "role": "service"})
	r.api("POST", "/tokens", map[string]any{"name": "deploys", "role": "operator", "expires_at": now.AddDate(0, 3, 0)})
	r.api("POST", "/webhooks", map[string]any{"url": "https://8.8.8.8/hooks/sluice", "note": "the team's channel", "types": []string{"sale.opened", "sale.missed"}})
	pause(ctx, 2*time.Second)
	r.join("lightstick", 140)
	r.crowd(ctx, wg, "sneaker-42", 9, 20*time.Second)
	r.crowd(ctx, wg, "ticket-bts", 2.5, 20*time.Second)
	r.crowd(ctx, wg, "console-5", 5, 10*time.Second)
	r.crowd(ctx, wg, "vinyl", 3, time.Second)
}
