package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/load"
)

// conns are the connections of each side of a ratio.
const conns = 64

// contest sends the same requests to a node and to a bare gin server whose answer has the same size, in turns, and
// reports both sides, the median of the ratios, and what our side cost the store.
type contest struct {
	host     string
	next     func(conn int) []byte
	got      func(conn int, r load.Response) // nil = nothing to keep
	want     string                          // stands in each answer, such as `"action":"pass"`
	least    float64                         // ratio
	mostCall float64                         // store commands by clients per request
}

// run runs a contest. fleet may be nil: a server that is not ours to start, whose store is not seen.
func (c contest) run(ctx context.Context, e *env, f *testbed) error {
	size, err := c.probe(ctx)
	if err != nil {
		return err
	}
	bare, bareAddr, err := e.bare(ctx, size)
	if err != nil {
		return err
	}
	defer bare.Kill()
	pairs := pick(e.Short, 5, 2)
	span := pick(e.Short, 2*time.Second, 500*time.Millisecond)

	send := func(addr string, got func(int, load.Response), span time.Duration) (load.Result, error) {
		r, err := load.Run(ctx, load.Plan{Addrs: []string{addr}, Conns: conns, For: span, Next: c.next, Got: got})
		if err == nil && r.Errors > 0 && r.Requests == 0 {
			err = errors.Join(errors.New("no request was answered well"), r.First)
		}
		return r, err
	}
	for _, addr := range []string{bareAddr, c.host} { // warm
		got := c.got
		if addr == bareAddr {
			got = nil
		}
		if _, err := send(addr, got, span/2); err != nil {
			return err
		}
	}
	e.say("%d pairs of %v against a bare server whose answer has %d bytes", pairs, span, size)

	var store *redis.Client
	if f != nil {
		store = f.redis.Client()
		defer store.Close()
	}
	var ours, theirs side
	var ratios []float64
	for i := range pairs {
		both := []func() error{
			func() error {
				before := f.spent(ctx, store)
				r, err := send(c.host, c.got, span)
				ours.add(r, f.spent(ctx, store).less(before))
				return err
			},
			func() error {
				before := processor(bare)
				r, err := send(bareAddr, nil, span)
				theirs.add(r, spent{node: processor(bare) - before})
				return err
			},
		}
		if i%2 == 1 {
			slices.Reverse(both) // whoever comes second finds the machine warmer, or busier
		}
		for _, one := range both {
			if err := one(); err != nil {
				return err
			}
		}
		a, b := ours.rates[i], theirs.rates[i]
		ratios = append(ratios, a/b)
		e.say("pair %d: %.0f/s against %.0f/s: %.2f", i+1, a, b, a/b)
	}

	r := &e.report
	r.note("bare gin", median(theirs.rates), "requests/s")
	r.note("sluice", median(ours.rates), "requests/s")
	least, most := slices.Min(ratios), slices.Max(ratios)
	r.atLeast(e.Short, fmt.Sprintf("ratio, median of %d pairs", pairs), median(ratios), c.least, "×")
	r.note("ratio, least and most of the pairs", least, "×")
	r.note("", most, "×")
	r.note("bare gin p50", theirs.quantile(50), "ms")
	r.note("bare gin p99", theirs.quantile(99), "ms")
	r.note("sluice p50", ours.quantile(50), "ms")
	r.note("sluice p99", ours.quantile(99), "ms")
	r.atMost("requests that failed", float64(ours.errors), 0, "requests")
	r.note("processor time of the bare server", theirs.perRequest(), "µs/request")
	if f == nil {
		return nil
	}
	n := float64(ours.requests)
	r.note("processor time of the node", ours.perRequest(), "µs/request")
	r.note("processor time of the store", ours.spent.store/n*1e6, "µs/request")
	r.note("memory of the node", childproc.ResidentMB(f.Nodes[0].PID()), "MB")

	var counted load.Result
	n2, err := f.countCalls(ctx, func() (err error) {
		counted, err = send(c.host, c.got, span)
		return err
	})
	if err != nil {
		return err
	}
	per := float64(max(1, counted.Requests))
	r.limit(e.Short, "store commands by clients", float64(n2.byClients)/per, c.mostCall, "per request")
	r.note("store commands inside scripts", float64(n2.inScripts)/per, "per request")
	return nil
}

// probe asks once and gives the size of the answer.
func (c contest) probe(ctx context.Context) (int, error) {
	conn, err := load.Dial(ctx, c.host, time.Now().Add(5*time.Second))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	r, err := conn.Do(c.next(0))
	if err != nil {
		return 0, err
	}
	if r.Status != 200 || !bytes.Contains(r.Body, []byte(c.want)) {
		return 0, fmt.Errorf("not the answer to measure: %d: %.300s", r.Status, r.Body)
	}
	return len(r.Body), nil
}

// side is what came of one side's runs.
type side struct {
	rates            []float64
	requests, errors int64
	results          []load.Result
	spent            spent
}

func (s *side) add(r load.Result, cost spent) {
	s.rates = append(s.rates, r.PerSecond())
	s.requests += r.Requests
	s.errors += r.Errors
	s.results = append(s.results, r)
	s.spent.node += cost.node
	s.spent.store += cost.store
}

// quantile is the median over the runs, in ms.
func (s *side) quantile(q float64) float64 {
	var of []float64
	for _, r := range s.results {
		of = append(of, float64(r.Quantile(q).Microseconds())/1000)
	}
	return median(of)
}

// perRequest is the processor time of the node for each request, in µs.
func (s *side) perRequest() float64 {
	return s.spent.node.Seconds() / float64(max(1, s.requests)) * 1e6
}

// spent is processor time.
type spent struct {
	node  time.Duration
	store float64 // s
}

func (s spent) less(o spent) spent { return spent{s.node - o.node, s.store - o.store} }

func (f *testbed) spent(ctx context.Context, store *redis.Client) spent {
	if f == nil {
		return spent{}
	}
	return spent{processor(f.Nodes[0]), storeCPU(ctx, store)}
}

// atLeast adds a row with a lower bound, which the short form tells but does not hold: a run of seconds says nothing
// below ±10 %.
func (r *Report) atLeast(short bool, name string, value, least float64, unit string) {
	if short {
		r.note(name+" (in full ≥ "+number(least)+")", value, unit)
		return
	}
	r.Rows = append(r.Rows, Row{Name: name, Value: value, Unit: unit, Bound: "≥ " + number(least), OK: value >= least})
}

// limit is atMost for what the short form cannot tell.
func (r *Report) limit(short bool, name string, value, most float64, unit string) {
	if short {
		r.note(name+" (in full ≤ "+number(most)+")", value, unit)
		return
	}
	r.atMost(name, value, most, unit)
}
