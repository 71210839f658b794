package telemetry

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// page is one answer of the metrics' endpoint.
type page struct {
	types   map[string]string  // of each family
	help    map[string]string  // of each family
	samples map[string]float64 // by name and labels, as written
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\.)*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\.)*")*\})? (\S+)(?: # \{.*\} \S+(?: \S+)?)?$`)
	suffix     = regexp.MustCompile(`_(total|bucket|sum|count|created)$`)
)

// parse reads a page of OpenMetrics as its grammar has it: each family once, its samples together and named for its
// type, each series once, and # EOF at the end.
func parse(t *testing.T, text string) page {
	t.Helper()
	p := page{types: map[string]string{}, help: map[string]string{}, samples: map[string]float64{}}
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok {
		t.Fatalf("no end: %q", text[max(0, len(text)-40):])
	}
	family := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if meta, ok := strings.CutPrefix(line, "# "); ok {
			kind, rest, _ := strings.Cut(meta, " ")
			name, value, _ := strings.Cut(rest, " ")
			into := map[string]map[string]string{"TYPE": p.types, "HELP": p.help, "UNIT": {}}[kind]
			if _, twice := into[name]; into == nil || twice {
				t.Fatalf("a line of a kind that is unknown, or there already: %q", line)
			}
			into[name], family = value, name
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no sample: %q", line)
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		base, counter := strings.CutSuffix(m[1], "_total")
		if base != family && suffix.ReplaceAllString(m[1], "") != family || counter != (p.types[family] == "counter") {
			t.Fatalf("%q stands under %s (%s)", line, family, p.types[family])
		}
		if _, twice := p.samples[m[1]+m[2]]; twice {
			t.Fatalf("a series stands there twice: %q", line)
		}
		p.samples[m[1]+m[2]] = v
	}
	return p
}

// scrape gets the page as Prometheus does.
func scrape(t *testing.T, m *Metrics) page {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	if ct := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(ct, "application/openmetrics-text") {
		t.Fatalf("%d, %s", w.Code, ct)
	}
	return parse(t, w.Body.String())
}

// of lists the samples of a name, by labels.
func (p page) of(name string) map[string]float64 {
	all := map[string]float64{}
	for series, v := range p.samples {
		if got, labels, _ := strings.Cut(series, "{"); got == name {
			all[strings.TrimSuffix(labels, "}")] = v
		}
	}
	return all
}

func (p page) is(t *testing.T, series string, want float64) {
	t.Helper()
	if got, ok := p.samples[series]; !ok || got != want {
		t.Errorf("%s: %g (there: %v), want %g", series, got, ok, want)
	}
}

// noSources are those of a node that has just started.
func noSources() Sources {
	zero := func() int64 { return 0 }
	return Sources{
		StoreUp: func() bool { return false }, ClockSkew: func() time.Duration { return 0 },
		SettingsVersion: zero, DroppedCounts: zero, DroppedBeats: zero, Queues: zero, Streams: zero, DroppedSpans: zero, Unreplicated: zero,
		Sales: func() []SaleDue { return nil }, KeyEnds: func() time.Time { return time.Time{} },
	}
}

func newMetrics(t *testing.T, s Sources) *Metrics {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
