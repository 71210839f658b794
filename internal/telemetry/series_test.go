package telemetry

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/telemetry/series"
	"github.com/sluicehq/sluice/internal/testprogram"
	"github.com/sluicehq/sluice/queue"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const table = "../../docs/metrics.md"

var labelName = regexp.MustCompile(`([a-z_]+)="`)

// busy is a node with a queue and a request behind it.
func busy(t *testing.T) *Metrics {
	t.Helper()
	m := newMetrics(t, noSources())
	e := problem.NewEngine(nil)
	e.Use(m.Requests("visitor", "/wait/:item"))
	e.GET("/wait/:item", func(*gin.Context) {})
	for _, path := range []string{"/wait/a", "/nowhere"} {
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	return m
}

// TestTheTableIsWhatAPageShows: docs/metrics.md, what the program says of its metrics, and a page of a node on which nothing has happened
// yet are the same.
func TestTheTableIsWhatAPageShows(t *testing.T) {
	t.Parallel()
	p := scrape(t, busy(t))
	labels := map[string][]string{}
	for sample := range p.samples {
		name, rest, _ := strings.Cut(sample, "{")
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); p.types[base] == "histogram" {
				name = base
			}
		}
		for _, m := range labelName.FindAllStringSubmatch(rest, -1) {
			if m[1] != "le" && !slices.Contains(labels[name], m[1]) {
				labels[name] = append(labels[name], m[1])
			}
		}
		if _, there := labels[name]; !there {
			labels[name] = nil
		}
	}
	known := map[string]bool{}
	for _, m := range series.All() {
		known[m.Name] = true
		family := m.Name
		if m.Kind == series.Counter {
			family = strings.TrimSuffix(family, "_total")
		}
		if p.types[family] != string(m.Kind) || p.help[family] != strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(m.Help) {
			t.Errorf("%s: a %q, %q", m.Name, p.types[family], p.help[family])
		}
		got, there := labels[m.Name]
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(m.Labels)); !there || !slices.Equal(got, want) {
			t.Errorf("%s: on the page from the start: %v; labels %v, want %v", m.Name, there, got, want)
		}
	}
	for name := range labels {
		if strings.HasPrefix(name, "sluice_") && !known[name] {
			t.Errorf("%s is on the page and in no table", name)
		}
	}
	want := document()
	if *update {
		if err := os.WriteFile(table, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(table); err != nil || string(got) != want {
		t.Errorf("docs/metrics.md is not what the program says (%v): go test ./internal/telemetry -run TestTheTable -update", err)
	}
}

func document() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nWhat `/metrics` on the operations listener shows, in the text form of Prometheus and as OpenMetrics. " +
		"Every series is there from the start, at 0; those of an item from when its queue goes on until 15 s after it went off, " +
		"for the 100 items with the longest lines (and the 100 busiest, for `" + series.ItemRequests.Name + "`); the others together are `" + series.OtherItem + "`. " +
		"An item's numbers are shown by the node that steps it, so that sums over nodes are true. " +
		"Beside these there are those of the Go runtime (`go_…`) and of the process (`process_…`).\n\n" +
		"Written by `go test ./internal/telemetry -run TestTheTable -update`; what they are drawn in: [observability.md](observability.md).\n\n" +
		"| metric | kind | unit | labels | what it says |\n| --- | --- | --- | --- | --- |\n")
	for _, m := range series.All() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s |\n", m.Name, m.Kind, m.Unit, strings.Join(m.Labels, ", "), m.Help)
	}
	return b.String()
}

func TestPromtoolFindsNothingToSay(t *testing.T) {
	t.Parallel()
	promtool := testprogram.Find(t, "promtool")
	w := httptest.NewRecorder()
	busy(t).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(w.Body.String())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// B088, bounded: whatever visitors ask for, and in which words, the page stays small and quick.
func TestThePageStaysSmall(t *testing.T) {
	t.Parallel()
	m := busy(t)
	e := problem.NewEngine(nil)
	e.Use(m.Requests("visitor", "/wait/:item"))
	for i := range 100_000 {
		m.Counted(queue.Item(fmt.Sprintf("made-up-%d", i)), 1+int64(i%7), noon)
		if i < 50_000 {
			r := httptest.NewRequest(fmt.Sprintf("M%d", i%5000), fmt.Sprintf("/wait/made-up-%d?user=%d", i, i), nil)
			r.Host, r.RemoteAddr = fmt.Sprintf("host-%d.example", i), fmt.Sprintf("10.0.%d.%d:80", i/250%4, i%250)
			r.Header.Set("User-Agent", fmt.Sprintf("agent %d", i))
			e.ServeHTTP(httptest.NewRecorder(), r)
		}
		if i < 300 {
			m.Stepped(told(numbered(i), 1, queue.Counts{Waiting: int64(i)}), limited, 0, noon, nil)
		}
	}
	began := time.Now()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	took, lines := time.Since(began), 0
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	t.Logf("%d series in %v", lines, took)
	if lines >= 3000 || took > 500*time.Millisecond {
		t.Errorf("%d series in %v", lines, took)
	}
}

// B089: items come and go with each sale; their series go with them.
func TestSeriesGoWithTheirItems(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, noSources())
	count := func() int { return len(scrape(t, m).samples) }
	var third int
	for round := range 30 {
		now := noon.Add(time.Duration(round) * 24 * time.Hour)
		for i := range 200 {
			item := queue.Item(fmt.Sprintf("sale-%d-%d", round, i))
			m.Stepped(told(item, queue.Generation(round+1), queue.Counts{Waiting: int64(i), Joined: 10}), limited, 0, now, nil)
			m.Counted(item, 100, now)
		}
		m.Keep(now.Add(-15*time.Second), func(queue.Item) bool { return true })
		if round == 2 {
			third = count()
		}
	}
	if last := count(); last > third*110/100 {
		t.Errorf("%d series after three rounds, %d after thirty", third, last)
	}
	later := noon.Add(29*24*time.Hour + time.Hour)
	m.Keep(later, func(queue.Item) bool { return true })
	p := scrape(t, m)
	for _, name := range []string{series.Waiting.Name, series.ItemRequests.Name} {
		if got := p.of(name); len(got) != 1 {
			t.Errorf("%s: %d series an hour after the last item went quiet", name, len(got))
		}
	}
	if len(m.items)+len(m.traffic.items) != 0 {
		t.Errorf("%d items are still known", len(m.items)+len(m.traffic.items))
	}
}
