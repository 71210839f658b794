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
	r.crowd(ctx, wg, "sneaker-42", 9, 20*time.Second)
	r.crowd(ctx, wg, "ticket-bts", 2.5, 20*time.Second)
	r.crowd(ctx, wg, "console-5", 5, 10*time.Second)
	r.crowd(ctx, wg, "vinyl", 3, time.Second)
}
