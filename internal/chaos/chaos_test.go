package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var (
	full  = flag.Bool("full", false, "run every fault in full; otherwise two of them, with a small crowd")
	only  = flag.String("only", "", "run the faults whose name holds this text, in full")
	table = flag.String("table", "", "write the table into this page")
)

// inflow is that of the line, people per second.
const inflow = 20

// TestFaults lets each fault happen under a crowd. Nobody goes in who should not, nobody who polls as told loses a place or has
// two, whoever holds a pass is let in all along, and nobody is answered 5xx.
func TestFaults(t *testing.T) {
	var rows []row
	for _, f := range faults {
		if *only != "" && !strings.Contains(f.name, *only) || *only == "" && !*full && !f.short {
			continue
		}
		t.Run(f.name, func(t *testing.T) { rows = append(rows, f.run(t)) })
	}
	if !t.Failed() && *table != "" {
		page, err := os.ReadFile(*table)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*table, []byte(renewed(string(page), rows)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Print(tabled(rows))
}

// run lets one fault happen.
func (f fault) run(t *testing.T) (r row) {
	people, first, calmFor, after := 600, 20, time.Second, 3*time.Second
	if *full || *only != "" {
		people, first, calmFor, after = max(1500, f.people), 50, 3*time.Second, 8*time.Second
	}
	w := build(t, f)
	c := w.crowd
	g, ctx := errgroup.WithContext(w.ctx)
	g.SetLimit(16)
	for range people {
		g.Go(func() error { return c.join(ctx) })
	}
	w.must(g.Wait())
	w.must(w.Act(w.ctx, lined, "admit", map[string]any{"count": first}))
	w.must(w.Act(w.ctx, lined, "resume", nil))
	began := time.Now()

	playing, stop := context.WithCancel(w.ctx)
	played := make(chan struct{})
	go func() { c.play(playing); close(played) }()
	defer func() { stop(); <-played }()
	sleep(w.ctx, calmFor)

	// The fault, and when which node finds the store down.
	at := time.Now()
	c.phase.Store(int32(struck))
	watching, enough := context.WithCancel(w.ctx)
	found := make(chan time.Duration, 1)
	go func() { found <- w.allFindItDown(watching, at) }()
	f.strike(w)
	if f.mend != nil {
		sleep(w.ctx, time.Until(at.Add(f.lasts)))
		at = time.Now()
		f.mend(w)
	} else {
		at = time.Now()
	}
	before := w.admitted()
	deadline := time.Now().Add(f.back + 10*time.Second)
	for !w.recovered(before) && time.Now().Before(deadline) && sleep(w.ctx, 50*time.Millisecond) {
	}
	r.fault, r.recovered = f, time.Since(at)
	c.phase.Store(int32(mended))
	enough()
	r.detected = <-found
	sleep(w.ctx, after)
	stop()
	<-played
	r.span = time.Since(began)
	r.read(w, first, at)
	r.check(t)
	return r
}

// allFindItDown waits until every node that answers has found the store down, and gives the time since at; 0 = never all.
func (w *world) allFindItDown(ctx context.Context, at time.Time) time.Duration {
	down := map[string]bool{}
	for sleep(ctx, 20*time.Millisecond) {
		for _, n := range w.Nodes {
			if up, answers := w.finds(n); !up && answers {
				down[n.Name] = true
			}
		}
		if len(down) == len(w.Nodes) {
			w.crowd.phase.CompareAndSwap(int32(struck), int32(known))
			return time.Since(at)
		}
	}
	return 0
}
