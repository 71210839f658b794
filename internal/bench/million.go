package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/internal/visitor"
	"github.com/sluicehq/sluice/queue"
)

// million lets 1,000,000 people join one item at one node and one store, measures on the way, lets all of them in at
// 20,000/s, and then has 260,000 of another million swept out for silence.
func million(ctx context.Context, e *env) error {
	const item = "million"
	f, err := e.start(ctx, 1)
	defer f.close()
	if err != nil {
		return err
	}
	store := f.redis.Client()
	defer store.Close()
	if err := f.open(ctx, item, still(nil)); err != nil {
		return err
	}
	m := &filling{
		env: e, fleet: f, store: store, item: item, host: f.Nodes[0].Host(),
		near: make([][]byte, 0, 200), far: make([][]byte, 0, 4096),
		checkpoints: pick(e.Short, []int{1_000, 10_000, 100_000, 300_000, 1_000_000}, []int{500, 2_000, 10_000}),
	}
	if m.scripts, err = watchScripts(ctx, store); err != nil {
		return err
	}
	if err := m.fill(ctx); err != nil {
		return err
	}
	m.report()
	if err := e.letAllIn(ctx, f, store, m.scripts, item); err != nil {
		return err
	}
	if err := e.sweep(ctx, f, store); err != nil {
		return err
	}
	return m.scripts.report(ctx, &e.report, e.Short)
}

// filling is a line that grows to its checkpoints.
type filling struct {
	env         *env
	fleet       *testbed
	store       *redis.Client
	scripts     *scriptWatch
	item, host  string
	checkpoints []int

	mu        sync.Mutex
	joined    int
	near, far [][]byte // polls of some who joined

	failed int64
	bytes  float64 // of store memory a visitor, at the end
	points []point
}

// point is what was measured at one length of the line.
type point struct {
	waiting         float64
	joins           float64 // per second, up to here
	join, near, far load.Result
	scripts         scriptTimes
}

// fill joins people up to each checkpoint, and measures there.
func (m *filling) fill(ctx context.Context) error {
	base, err := storeInfo(ctx, m.store, "memory", "used_memory")
	if err != nil {
		return err
	}
	rate := pick(m.env.Short, 500.0, 200.0)
	span := pick(m.env.Short, 6*time.Second, time.Second)
	for _, n := range m.checkpoints {
		// The joins of the measurement itself are a part of the way, but for a line that is too short for them.
		itself := min(int64(rate*span.Seconds()), int64(n/10))
		r, err := m.joins(ctx, load.Plan{Most: int64(n-m.joined) - itself, For: allTheTime})
		if err != nil {
			return err
		}
		p, err := m.measure(ctx, rate, span)
		if err != nil {
			return err
		}
		p.waiting, p.joins = float64(n), r.PerSecond()
		m.points = append(m.points, p)
		m.env.say("%d wait: %.0f joins/s on the way; join p50 %v p99 %v, near %v %v, far %v %v", m.joined, p.joins,
			p.join.Quantile(50), p.join.Quantile(99), p.near.Quantile(50), p.near.Quantile(99), p.far.Quantile(50), p.far.Quantile(99))
	}
	used, err := storeInfo(ctx, m.store, "memory", "used_memory")
	m.bytes = (used - base) / float64(m.joined)
	return err
}

// joins sends newcomers, and keeps the tickets of some.
func (m *filling) joins(ctx context.Context, p load.Plan) (load.Result, error) {
	request := load.Request(http.MethodGet, m.host, "/v1/items/"+m.item+"/check")
	p.Addrs, p.Conns, p.Patience = []string{m.host}, conns, allTheTime
	p.Next = func(int) []byte { return request }
	p.Got = func(_ int, r load.Response) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.joined++
		close := len(m.near) < cap(m.near)
		if !close && (m.joined < 300 || len(m.far) == cap(m.far) || m.joined%(1+m.joined/400) != 0) {
			return
		}
		var a visitor.Answer
		if json.Unmarshal(r.Body, &a) != nil || a.Place == nil {
			return // counted as failed, or missing at the end
		}
		poll := load.Request(http.MethodGet, m.host, "/v1/items/"+m.item+"/status", "Sluice-Visitor", a.Token, "Sluice-Ticket", a.Place.Ticket)
		if close {
			m.near = append(m.near, poll)
		} else {
			m.far = append(m.far, poll)
		}
	}
	r, err := load.Run(ctx, p)
	m.failed += r.Errors
	if err == nil && r.First != nil {
		err = r.First
	}
	return r, err
}

// measure sends joins, near and far polls at a constant rate each, and takes the store's own times meanwhile.
func (m *filling) measure(ctx context.Context, rate float64, span time.Duration) (p point, err error) {
	m.mu.Lock()
	near, far := append([][]byte{}, m.near...), append([][]byte{}, m.far...)
	m.mu.Unlock()
	poll := func(ctx context.Context, requests [][]byte, into *load.Result) func() error {
		return func() (err error) {
			*into, err = load.Run(ctx, load.Plan{
				Addrs: []string{m.host}, Conns: 16, For: span, Rate: rate, Next: turns(requests, 16),
			})
			m.failed += into.Errors
			return err
		}
	}
	p.scripts, err = m.scripts.during(ctx, func() error {
		g, ctx := errgroup.WithContext(ctx)
		var farResult, nearResult load.Result
		g.Go(func() (err error) { p.join, err = m.joins(ctx, load.Plan{For: span, Rate: rate}); return err })
		g.Go(func() error { return poll(ctx, near, &nearResult)() })
		g.Go(func() error { return poll(ctx, far, &farResult)() })
		err := g.Wait()
		p.near, p.far = nearResult, farResult
		return err
	})
	return p, err
}

// report compares the end with the start, and draws the way.
func (m *filling) report() {
	r, short := &m.env.report, m.env.Short
	first, last := m.points[0], m.points[len(m.points)-1]
	r.note("people who joined", float64(m.joined), "people")
	r.atMost("requests that failed", float64(m.failed), 0, "requests")
	r.limit(short, "store memory per waiting visitor", m.bytes, 240, "B")
	ms := func(l load.Result, q float64) float64 { return float64(l.Quantile(q).Microseconds()) / 1000 }
	for _, one := range []struct {
		name string
		of   func(point) load.Result
	}{
		{"join", func(p point) load.Result { return p.join }},
		{"status near the head", func(p point) load.Result { return p.near }},
		{"status far back", func(p point) load.Result { return p.far }},
	} {
		was, is := ms(one.of(first), 50), ms(one.of(last), 50)
		r.note(fmt.Sprintf("%s p50 with %.0f waiting", one.name, first.waiting), was, "ms")
		r.note(fmt.Sprintf("%s p50 with %.0f waiting", one.name, last.waiting), is, "ms")
		r.limit(short, one.name+" p50, ratio", is/was, 1.2, "×")
		r.note(fmt.Sprintf("%s p99 with %.0f waiting", one.name, first.waiting), ms(one.of(first), 99), "ms")
		r.note(fmt.Sprintf("%s p99 with %.0f waiting", one.name, last.waiting), ms(one.of(last), 99), "ms")
	}
	for _, script := range []string{"join", "touch", "step", "look"} {
		was, is := first.scripts.quantile(script, 0.99), last.scripts.quantile(script, 0.99)
		if was == 0 || is == 0 {
			continue
		}
		r.note(fmt.Sprintf("%s.lua p50 in the store with %.0f waiting", script, first.waiting), first.scripts.quantile(script, 0.5), "µs")
		r.note(fmt.Sprintf("%s.lua p50 in the store with %.0f waiting", script, last.waiting), last.scripts.quantile(script, 0.5), "µs")
		r.note(fmt.Sprintf("%s.lua p99 in the store with %.0f waiting", script, first.waiting), was, "µs")
		r.note(fmt.Sprintf("%s.lua p99 in the store with %.0f waiting", script, last.waiting), is, "µs")
		r.limit(short, script+".lua p99 in the store, ratio", is/was, 1.2, "×")
	}
	var joins Line
	var p99 [3]Line
	joins.Name = "joins"
	for i, name := range []string{"join", "status near the head", "status far back"} {
		p99[i].Name = name
	}
	for _, p := range m.points {
		joins.Points = append(joins.Points, [2]float64{p.waiting, p.joins})
		for i, l := range []load.Result{p.join, p.near, p.far} {
			p99[i].Points = append(p99[i].Points, [2]float64{p.waiting, ms(l, 99)})
		}
	}
	r.Charts = append(r.Charts,
		Chart{Name: "throughput", Title: "Joins, as many as go, on the way to so many waiting", X: "people waiting", Y: "joins per second", LogX: true, Series: []Line{joins}},
		Chart{Name: "p99", Title: "p99 at a constant rate, generator on the same cores", X: "people waiting", Y: "ms", LogX: true, Series: p99[:]},
	)
}

// letAllIn lets everybody in, and looks whether they went in order and at the rate.
func (e *env) letAllIn(ctx context.Context, f *testbed, store *redis.Client, scripts *scriptWatch, item string) error {
	perSecond := pick(e.Short, 20_000.0, 4_000.0)
	tag := "sluice:{" + item + "}:"
	var order []string
	const part = 20_000
	for from := int64(0); ; from += part {
		names, err := store.ZRange(ctx, tag+"waiting", from, from+part-1).Result()
		if err != nil {
			return err
		}
		if order = append(order, names...); len(names) < part {
			break
		}
	}
	n := len(order)
	if err := f.Act(ctx, item, "inflow", map[string]any{"inflow_per_second": perSecond}); err != nil {
		return err
	}
	e.say("%d go in at %.0f/s", n, perSecond)
	admitted := func() float64 { return float64(n) - float64(store.ZCard(ctx, tag+"waiting").Val()) }
	if err := pause(ctx, time.Now().Add(pick(e.Short, 2*time.Second, time.Second))); err != nil {
		return err
	}
	var in float64
	times, err := scripts.during(ctx, func() error {
		was := admitted()
		err := pause(ctx, time.Now().Add(pick(e.Short, 5*time.Second, time.Second)))
		in = admitted() - was
		return err
	})
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Duration(3*float64(n)/perSecond)*time.Second + 10*time.Second); admitted() < float64(n); {
		if time.Now().After(deadline) {
			return fmt.Errorf("only %.0f of %d were let in", admitted(), n)
		}
		if err := pause(ctx, time.Now().Add(100*time.Millisecond)); err != nil {
			return err
		}
	}

	at := make([]time.Time, 0, n)
	missing, overtook := 0, 0
	for from := 0; from < n; from += part {
		stays, err := store.HMGet(ctx, tag+"admissions", order[from:min(n, from+part)]...).Result()
		if err != nil {
			return err
		}
		for _, stay := range stays {
			text, _ := stay.(string)
			f := strings.Fields(text) // kind, admitted, …
			if len(f) < 2 {
				missing++
				continue
			}
			ms, _ := strconv.ParseInt(f[1], 10, 64)
			t := time.UnixMilli(ms)
			if len(at) > 0 && t.Before(at[len(at)-1]) {
				overtook++
				continue
			}
			at = append(at, t)
		}
	}
	r := &e.report
	r.between("people let in", float64(n-missing), float64(n), float64(n), "people")
	r.atMost("of these, let in before somebody in front", float64(overtook), 0, "people")
	if len(at) == 0 {
		return nil
	}
	span := at[len(at)-1].Sub(at[0]).Seconds()
	measured := float64(len(at)-1) / span
	r.note("let in", measured, "people/s")
	if !e.Short {
		r.between("of the rate set", measured/perSecond*100, 99, 101, "%")
	}
	r.atMost("most beyond the rate in any span", excess(at, perSecond, at[0], at[len(at)-1].Add(time.Millisecond)), perSecond+1, "people")
	r.limit(e.Short, "store time to admit 1,000", times.sum("step")/max(1, in), 5, "ms")
	return nil
}

// hence is a clock that is off by some time.
type hence time.Duration

// Now gives the time by this clock.
func (h hence) Now() time.Time { return time.Now().Add(time.Duration(h)) }

// sweep fills another line, of which 26 % have been silent for too long, spread over all of it, and waits until they
// are out.
func (e *env) sweep(ctx context.Context, f *testbed, store *redis.Client) error {
	const item = "silent"
	n := pick(e.Short, 1_000_000, 10_000)
	abandon := pick(e.Short, 120, 30)
	// Seeding takes a while, in which those who count as heard must not become silent.
	if err := f.open(ctx, item, still(nil)); err != nil {
		return err
	}
	now := storeLine(store, nil)
	long := storeLine(store, hence(-time.Hour))
	const round = 50
	silent := 0
	for i := 0; i < n/batchOf; i++ {
		line := now
		if i%round < round*26/100 {
			line = long
			silent += batchOf
		}
		if _, err := seed(ctx, line, item, batchOf, nil); err != nil {
			return err
		}
	}
	e.say("%d wait, %d of them silent for an hour", n, silent)
	began := time.Now()
	if err := f.Policy(ctx, item, still(map[string]any{"abandon_seconds": abandon})); err != nil {
		return err
	}
	var left int64
	for deadline := began.Add(time.Duration(abandon) * time.Second); ; {
		snapshot, err := now.Look(ctx, queue.Item(item))
		if err != nil {
			return err
		}
		if left = snapshot.Counts.Waiting; left <= int64(n-silent) {
			break
		}
		if time.Now().After(deadline) {
			break
		}
		if err := pause(ctx, time.Now().Add(100*time.Millisecond)); err != nil {
			return err
		}
	}
	took := time.Since(began)
	e.say("swept in %.1f s", took.Seconds())
	r := &e.report
	r.between("people left in line after the sweep", float64(left), float64(n-silent), float64(n-silent), "people")
	r.note("silent ones swept out", float64(silent), "people")
	r.note("in", took.Seconds(), "s")
	return nil
}
