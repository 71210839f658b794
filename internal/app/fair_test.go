package app_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// full says that tests run in their full length: make cases.
var full = os.Getenv("CASES") == "full"

// metrics gives the numbers of a node's /metrics by series.
func (r *rig) metrics(i int) map[string]float64 {
	r.t.Helper()
	resp, err := r.client.Get("http://" + r.nodes[i].Addresses().Ops + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	out := map[string]float64{}
	var b strings.Builder
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	for line := range strings.Lines(b.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			if f, err := strconv.ParseFloat(strings.Fields(value)[0], 64); err == nil {
				out[name] = f
			}
		}
	}
	return out
}

// B046: a huge, fast line takes nothing from the small ones beside it.
func TestABusyItemStarvesNoOther(t *testing.T) {
	t.Parallel()
	people, items := 20_000, 40
	if full {
		people, items = 200_000, 200
	}
	r := newRig(t, 2)
	line := redisline.New(redisline.Options{Client: r.redis.Client(), Prefix: r.prefix})
	fill := func(item queue.Item, n int) {
		for n > 0 {
			asks := make([]queue.Ask, min(n, 200))
			for i := range asks {
				asks[i] = queue.Ask{Visitor: queue.NewVisitor(), Create: true}
			}
			if _, err := line.Ask(t.Context(), item, asks); err != nil {
				t.Fatal(err)
			}
			n -= len(asks)
		}
	}
	r.must("PATCH", "/policies/huge", map[string]any{"inflow_per_second": 1000, "abandon_seconds": 3600})
	r.must("PATCH", "/policies/small-*", map[string]any{"inflow_per_second": 1, "abandon_seconds": 3600})
	until(200 * time.Millisecond)
	r.activate("huge")
	fill("huge", people)
	for k := range items - 1 {
		item := fmt.Sprintf("small-%d", k)
		r.activate(item)
		fill(queue.Item(item), 20)
	}
	admitted := func() map[string]float64 {
		all := map[string]float64{}
		for k := range items - 1 {
			item := fmt.Sprintf("small-%d", k)
			live := r.must("GET", "/items/"+item, nil)
			all[item] = live["books"].(map[string]any)["admitted"].(float64)
		}
		return all
	}
	until(time.Second)
	before, began := admitted(), time.Now()
	until(5 * time.Second)
	after, took := admitted(), time.Since(began).Seconds()
	for item, n := range after {
		if got := n - before[item]; got < took-2 || got > took+2 {
			t.Errorf("%s let in %v in %.1f s at one a second", item, got, took)
		}
	}
	if huge := r.must("GET", "/items/huge", nil)["books"].(map[string]any)["admitted"].(float64); huge < 5000 {
		t.Errorf("the huge line let in %v in more than 6 s at 1,000 a second", huge)
	}
	for i := range r.nodes {
		m := r.metrics(i)
		if late := m["sluice_mover_lag_seconds_count"] - m[`sluice_mover_lag_seconds_bucket{le="1"}`]; late > 0 {
			t.Errorf("node %d: %v steps were more than a second late", i, late)
		}
	}
}

// B002: the gauges say what the live view says, also after people have lapsed.
func TestGaugesAgreeWithTheLiveView(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.policy("sku-1", map[string]any{"mode": "on", "inflow_per_second": 0, "claim_seconds": 10})
	visitors := make([]*visitor, 6)
	for k := range visitors {
		visitors[k] = r.visitor()
		visitors[k].check(k%2, "sku-1")
	}
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": 4})
	r.eventually(3*time.Second, "four are let in", func() bool { return r.must("GET", "/items/sku-1", nil)["running"] == float64(4) })
	for _, v := range visitors[:2] {
		v.status(0, "sku-1")
	}
	agree := func(waiting, running float64) bool {
		live := r.must("GET", "/items/sku-1", nil)
		shown := map[string]float64{}
		for i := range r.nodes {
			m := r.metrics(i)
			for _, name := range []string{"sluice_waiting", "sluice_running", "sluice_no_show_total"} {
				shown[name] += m[name+`{item="sku-1"}`]
			}
		}
		return live["waiting"] == waiting && live["running"] == running &&
			shown["sluice_waiting"] == waiting && shown["sluice_running"] == running
	}
	r.eventually(5*time.Second, "gauges show 2 waiting and 4 inside", func() bool { return agree(2, 4) })
	if !full {
		return // the rest waits for claims to lapse
	}
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": 2})
	r.eventually(3*time.Second, "all are let in", func() bool {
		return visitors[4].status(0, "sku-1").Action == "pass" && visitors[5].status(1, "sku-1").Action == "pass"
	})
	r.eventually(14*time.Second, "the two who never came have lapsed", func() bool { return agree(0, 4) })
}

// B029: however long the backlog, no script takes long.
func TestNoScriptTakesLong(t *testing.T) {
	t.Parallel()
	people, admit := 6000, 3000
	if full {
		people, admit = 50_000, 20_000
	}
	r := newRig(t, 1)
	client := r.redis.Client()
	if err := client.ConfigSet(t.Context(), "slowlog-log-slower-than", "50000").Err(); err != nil {
		t.Fatal(err)
	}
	r.must("PATCH", "/policies/sku-1", map[string]any{"inflow_per_second": 0, "abandon_seconds": 3600, "claim_seconds": 10})
	until(200 * time.Millisecond)
	r.activate("sku-1")
	line := redisline.New(redisline.Options{Client: client, Prefix: r.prefix})
	for n := 0; n < people; n += 200 {
		asks := make([]queue.Ask, 200)
		for i := range asks {
			asks[i] = queue.Ask{Visitor: queue.NewVisitor(), Create: true}
		}
		if _, err := line.Ask(t.Context(), "sku-1", asks); err != nil {
			t.Fatal(err)
		}
	}
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": admit})
	r.eventually(10*time.Second, "those ordered by hand are let in", func() bool {
		return r.must("GET", "/items/sku-1", nil)["running"] == float64(admit)
	})
	until(300 * time.Millisecond)
	if n := r.must("GET", "/items/sku-1", nil)["books"].(map[string]any)["admitted"]; n != float64(admit) {
		t.Errorf("%v let in, want exactly %d", n, admit)
	}
	r.eventually(30*time.Second, "all claims have lapsed", func() bool { // at once: they were let in together
		return r.must("GET", "/items/sku-1", nil)["running"] == float64(0)
	})
	r.must("POST", "/items/sku-1/reset", map[string]any{"confirm": "sku-1"})
	stats, err := client.Info(t.Context(), "latencystats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`latency_percentiles_usec_evalsha:.*p99=([\d.]+)`).FindStringSubmatch(stats); m == nil {
		t.Errorf("no script in the latencies: %s", stats)
	} else if us, _ := strconv.ParseFloat(m[1], 64); us > 50_000 {
		t.Errorf("one script in a hundred takes %v µs and more", us)
	}
	slow, err := client.SlowLogGet(t.Context(), 100).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slow {
		if len(s.Args) > 0 && regexp.MustCompile(`(?i)^eval`).MatchString(s.Args[0]) {
			if full { // run with nothing beside it: no other program held the store up
				t.Errorf("a script took %v", s.Duration)
			} else {
				t.Logf("a script took %v", s.Duration)
			}
		}
	}
}
