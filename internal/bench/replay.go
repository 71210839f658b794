package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluicehq/sluice/internal/replay"
	"github.com/sluicehq/sluice/internal/trace"
)

// replays runs a made trace through the real detector and the real line: 500 items, of which a few are far more asked
// for than the others, with rushes that turn queues on.
func replays(ctx context.Context, e *env) error {
	events := pick(e.Short, 2_000_000, 100_000)
	csv := madeTrace(events)
	e.say("%d requests, %.0f MB of CSV", events, float64(len(csv))/1e6)
	policies, err := replay.Policies(nil, []string{"trigger_requests=2000", "inflow_per_second=200"})
	if err != nil {
		return err
	}
	var reads, runs []float64
	var queues float64
	for range pick(e.Short, 5, 1) {
		began := time.Now()
		t, err := trace.ReadFrom("made", bytes.NewReader(csv), trace.Options{})
		if err != nil {
			return err
		}
		read := time.Since(began)
		report, err := replay.Run(ctx, t, replay.Options{Policies: policies})
		if err != nil {
			return err
		}
		all := time.Since(began)
		reads, runs = append(reads, float64(events)/read.Seconds()), append(runs, float64(events)/all.Seconds())
		queues = float64(len(report.Items))
		e.say("read in %v, replayed in %v", read.Round(time.Millisecond), (all - read).Round(time.Millisecond))
	}
	r := &e.report
	r.atLeast(e.Short, "replay, reading the file included", median(runs), 500_000, "events/s")
	r.note("reading alone", median(reads), "events/s")
	r.note("items whose queue turned on", queues, "items")
	return nil
}

// madeTrace is CSV of n requests, the same each time.
func madeTrace(n int) []byte {
	chance := rand.New(rand.NewPCG(1, 2))
	popular := rand.NewZipf(chance, 1.2, 4, 499)
	var b bytes.Buffer
	b.WriteString("t_ms,visitor,item\n")
	ms := 1_767_225_600_000.0
	for range n {
		pace := 2.0 // requests per ms; every 100 s there is a rush
		if int64(ms)/1000%100 < 20 {
			pace = 8
		}
		ms += chance.ExpFloat64() / pace
		fmt.Fprintf(&b, "%d,v%d,item-%d\n", int64(ms), chance.IntN(n/4), popular.Uint64())
	}
	return b.Bytes()
}
