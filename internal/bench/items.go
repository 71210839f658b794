package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/queue"
)

// items has 10,000 queues at once on three nodes, each with people in line and an inflow of 1/s.
func items(ctx context.Context, e *env) error {
	many := pick(e.Short, 10_000, 300)
	span := pick(e.Short, 60*time.Second, 6*time.Second)
	line := int(span.Seconds()) + 40 // people: nobody runs out
	const samples = 20

	f, err := e.start(ctx, 3)
	defer f.close()
	if err != nil {
		return err
	}
	if err := f.Policy(ctx, "many-*", still(map[string]any{"mode": "on"})); err != nil {
		return err
	}
	if err := pause(ctx, time.Now().Add(1500*time.Millisecond)); err != nil { // a write is in force within 1 s
		return err
	}
	name := func(i int) string { return "many-" + strconv.Itoa(i) }
	// The first check turns an item's queue on.
	var next atomic.Int64
	hosts := f.hosts()
	result, err := load.Run(ctx, load.Plan{
		Addrs: hosts, Conns: 24, For: allTheTime, Patience: allTheTime,
		Next: func(conn int) []byte {
			i := int(next.Add(1)) - 1
			if i >= many {
				return nil
			}
			return load.Request(http.MethodGet, hosts[conn%len(hosts)], "/v1/items/"+name(i)+"/check")
		},
	})
	if err != nil {
		return err
	}
	if result.Errors > 0 {
		return fmt.Errorf("%d checks failed: %w", result.Errors, result.First)
	}
	e.say("%d queues are on", many)
	store := f.redis.Client()
	defer store.Close()
	straight := storeLine(store, nil)
	g, seeding := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i := range many {
		g.Go(func() error {
			_, err := seed(seeding, straight, name(i), line, nil)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	e.say("%d people wait at each", line)
	// Only now, or the lines that were filled first would be empty before the last one is full.
	if err := f.Policy(ctx, "many-*", map[string]any{"inflow_per_second": 1}); err != nil {
		return err
	}
	if err := pause(ctx, time.Now().Add(5*time.Second)); err != nil { // till every item is stepped at its own pace
		return err
	}

	before, err := f.lags(ctx)
	if err != nil {
		return err
	}
	from := make([]queue.Snapshot, samples)
	for i := range from {
		if from[i], err = straight.Look(ctx, queue.Item(name(i*many/samples))); err != nil {
			return err
		}
	}
	cpu, began := storeCPU(ctx, store), time.Now()
	nodes := f.cpu()
	if err := pause(ctx, began.Add(span)); err != nil {
		return err
	}
	cpu, nodes = storeCPU(ctx, store)-cpu, f.cpu()-nodes
	took := time.Since(began).Seconds()
	var worst float64
	for i := range from {
		now, err := straight.Look(ctx, queue.Item(name(i*many/samples)))
		if err != nil {
			return err
		}
		seconds := float64(now.NowMS-from[i].NowMS) / 1000
		worst = max(worst, abs(float64(now.Counts.Admitted-from[i].Counts.Admitted)-seconds))
	}
	after, err := f.lags(ctx)
	if err != nil {
		return err
	}
	lag := after.less(before)

	r := &e.report
	r.note("queues", float64(many), "items")
	r.note("steps", lag.count()/took, "per second")
	r.limit(e.Short, "tick lag p99", lag.quantile(0.99)*1000, 250, "ms")
	r.note("tick lag p50", lag.quantile(0.5)*1000, "ms")
	r.atMost(fmt.Sprintf("most that %d of them are off 1/s × %.0f s", samples, took), worst, 1+took/100, "people")
	r.note("processor of the store", cpu/took*100, "%")
	r.note("processor of the three nodes", nodes.Seconds()/took*100, "%")
	for _, n := range f.Nodes {
		r.note("memory of "+n.Name, childproc.ResidentMB(n.PID()), "MB")
	}
	return nil
}

func abs(x float64) float64 { return max(x, -x) }

// cpu is the processor time of all serving nodes.
func (f *testbed) cpu() (all time.Duration) {
	for _, n := range f.Nodes {
		all += processor(n)
	}
	return all
}

// lags is the histogram of how late steps ran, all nodes together: count of those up to each bound, in seconds.
type lags map[float64]float64

func (f *testbed) lags(ctx context.Context) (lags, error) {
	l := lags{}
	for _, n := range f.Nodes {
		status, body, err := f.Get(ctx, n.OpsURL+"/metrics")
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("metrics: %d", status)
		}
		l.read(body)
	}
	return l, nil
}

func (l lags) read(metrics []byte) {
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), `sluice_mover_lag_seconds_bucket{`)
		if !ok {
			continue
		}
		_, rest, _ = strings.Cut(rest, `le="`)
		bound, rest, _ := strings.Cut(rest, `"`)
		_, value, _ := strings.Cut(rest, "} ")
		value, _, _ = strings.Cut(value, " ")
		le, err := strconv.ParseFloat(bound, 64) // +Inf too
		n, err2 := strconv.ParseFloat(value, 64)
		if err == nil && err2 == nil {
			l[le] += n
		}
	}
}

func (l lags) less(o lags) lags {
	d := lags{}
	for le, n := range l {
		d[le] = n - o[le]
	}
	return d
}

func (l lags) bounds() []float64 {
	var all []float64
	for le := range l {
		all = append(all, le)
	}
	sort.Float64s(all)
	return all
}

func (l lags) count() (n float64) {
	for _, of := range l {
		n = max(n, of)
	}
	return n
}

// quantile in seconds, between a bucket's bounds in proportion; of the last one its lower bound.
func (l lags) quantile(q float64) float64 {
	want := q * l.count()
	var below, under float64
	for _, le := range l.bounds() {
		n := l[le]
		if n >= want && n > under {
			if le > 1e9 {
				return below
			}
			return below + (le-below)*(want-under)/(n-under)
		}
		below, under = le, n
	}
	return below
}
