package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/queue"
)

// mostWatchedMB is how much more memory a node may take that is watched, whether its receiver takes, hangs or is down.
const mostWatchedMB = 32 << 20 / 1e6

// watching: what it costs to be watched. Nodes of one store answer the same checks, each in turns with one that nobody
// watches. All of them are scraped each second and send their traces, 1 %: one to a receiver, one to a receiver that takes
// connections and never answers, and one to where nothing listens, so that each connection is refused.
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

	pairs, span := pick(e.Short, 15, 2), pick(e.Short, time.Second, 500*time.Millisecond)
	plain := f.Nodes[0]
	one := func(n *fleet.Node, into *side) error {
		before := processor(n)
		r, err := load.Run(ctx, load.Plan{Addrs: []string{n.Host()}, Conns: conns, For: span, Next: turns(requests, conns)})
		if err != nil {
			return err
		}
		if r.Errors > 0 {
			return fmt.Errorf("%s: %d requests failed: %w", n.Name, r.Errors, r.First)
		}
		into.add(r, spent{node: processor(n) - before})
		return nil
	}
	var warm side
	for _, n := range f.Nodes {
		if err := one(n, &warm); err != nil {
			return err
		}
	}
	var unwatched side
	watched, beside := map[string]*side{}, map[string]*side{} // and the runs of the plain one next to them
	for i := range pairs {
		for _, n := range f.Nodes[1:] {
			if i == 0 {
				watched[n.Name], beside[n.Name] = &side{}, &side{}
			}
			turn := []func() error{func() error { return one(plain, beside[n.Name]) }, func() error { return one(n, watched[n.Name]) }}
			if i%2 == 1 {
				slices.Reverse(turn) // whoever comes second finds the machine warmer, or busier
			}
			for _, run := range turn {
				if err := run(); err != nil {
					return err
				}
			}
		}
	}
	r := &e.report
	for _, s := range beside {
		unwatched.rates = append(unwatched.rates, s.rates...)
		unwatched.requests += s.requests
		unwatched.spent.node += s.spent.node
	}
	r.note("nobody watches", median(slices.Clone(unwatched.rates)), "requests/s")
	r.note("processor time of the node", unwatched.perRequest(), "µs/request")
	for _, n := range f.Nodes[1:] {
		mine := watched[n.Name]
		var ratios []float64
		for i, rate := range mine.rates {
			ratios = append(ratios, rate/beside[n.Name].rates[i])
		}
		r.note("receiver "+n.Name, median(mine.rates), "requests/s")
		r.note("processor time of the node", mine.perRequest(), "µs/request")
		r.atLeast(e.Short, fmt.Sprintf("ratio, receiver %s, median of %d pairs", n.Name, pairs), median(ratios), 0.95, "×")
		r.note("least and most of the pairs", slices.Min(ratios), "×")
		r.note("", slices.Max(ratios), "×")
		r.atMost("more memory, receiver "+n.Name, childproc.ResidentMB(n.PID())-childproc.ResidentMB(plain.PID()), mostWatchedMB, "MB")
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
