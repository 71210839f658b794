package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/queue"
)

// mostWatchedMB is how much more memory a node may take that is watched, whether its receiver takes, hangs or is down.
const mostWatchedMB = 32 << 20 / 1e6

// watching: what it costs to be watched. Four nodes of one store answer the same checks in turns: one that nobody watches;
// one that is scraped each second and sends its traces, 1 %, to a receiver; one whose receiver takes connections and never
// answers; and one whose receiver is down, so that each connection is refused.
func watching(ctx context.Context, e *env) error {
	f, err := e.start(ctx, 1)
	defer f.close()
	if err != nil {
		return err
	}
	takes, hangs, err := receivers()
	if err != nil {
		return err
	}
	defer takes.Close()
	defer hangs.Close()
	down, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := down.Close(); err != nil {
		return err
	}
	for _, receiver := range []struct {
		name string
		at   net.Listener
	}{{"taken", takes}, {"hanging", hangs}, {"down", down}} {
		with := *e
		with.Environ = append(slices.Clone(e.Environ), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://"+receiver.at.Addr().String()+"/v1/traces")
		if _, err := with.node(ctx, f, receiver.name); err != nil {
			return err
		}
	}
	if err := f.Policy(ctx, "off", map[string]any{"trigger_requests": queue.MaxNumber}); err != nil {
		return err
	}
	requests, err := knownVisitors(pick(e.Short, 10_000, 500), f.Nodes[0].Host(), "off")
	if err != nil {
		return err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go f.scrape(watch, f.Nodes[1:])

	pairs, span := pick(e.Short, 11, 2), pick(e.Short, 2*time.Second, 500*time.Millisecond)
	rates := map[string][]float64{}
	for i := range pairs + 1 { // the first warms
		turn := slices.Clone(f.Nodes)
		if i%2 == 1 {
			slices.Reverse(turn) // whoever comes last finds the machine warmer, or busier
		}
		for _, n := range turn {
			r, err := load.Run(ctx, load.Plan{Addrs: []string{n.Host()}, Conns: conns, For: span, Next: turns(requests, conns)})
			if err != nil {
				return err
			}
			if r.Errors > 0 {
				return fmt.Errorf("%s: %d requests failed: %w", n.Name, r.Errors, r.First)
			}
			if i > 0 {
				rates[n.Name] = append(rates[n.Name], float64(r.Requests)/span.Seconds())
			}
		}
	}
	r := &e.report
	plain := rates[f.Nodes[0].Name]
	r.note("nobody watches", median(plain), "requests/s")
	for _, n := range f.Nodes[1:] {
		var ratios []float64
		for i, rate := range rates[n.Name] {
			ratios = append(ratios, rate/plain[i])
		}
		r.note(n.Name, median(rates[n.Name]), "requests/s")
		r.atLeast(e.Short, fmt.Sprintf("ratio, receiver %s, median of %d pairs", n.Name, pairs), median(ratios), 0.95, "×")
		r.note("least and most of the pairs", slices.Min(ratios), "×")
		r.note("", slices.Max(ratios), "×")
		r.atMost("more memory, receiver "+n.Name, residentMB(n)-residentMB(f.Nodes[0]), mostWatchedMB, "MB")
	}
	return nil
}

// receivers are one of OTLP over HTTP that takes everything, and one that takes connections and says nothing.
func receivers() (takes, hangs net.Listener, err error) {
	if takes, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	go func() {
		_ = http.Serve(takes, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/x-protobuf") // and an empty message: all was taken
		}))
	}()
	if hangs, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		_ = takes.Close()
		return nil, nil, err
	}
	return takes, hangs, nil
}

// scrape gets the metrics of nodes each second, until ctx ends.
func (f *testbed) scrape(ctx context.Context, nodes []*fleet.Node) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, n := range nodes {
				_, _, _ = f.Get(ctx, n.OpsURL+"/metrics")
			}
		}
	}
}
