package app_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sluicehq/sluice/internal/oteltest"
	"github.com/sluicehq/sluice/internal/telemetry"
	"github.com/sluicehq/sluice/pass"
)

// received are the spans that have come to a receiver.
type received struct{ *oteltest.Receiver }

// of are the spans so far that are of a kind.
func (r received) of(is func(*otlp.Span) bool) []*otlp.Span {
	return slices.DeleteFunc(r.Spans(), func(s *otlp.Span) bool { return !is(s) })
}

func named(name string) func(*otlp.Span) bool {
	return func(s *otlp.Span) bool { return s.Name == name }
}

// sending opens an export for each of n nodes, and the exporter of an origin, by the standard variables, which are set no
// longer than that takes: it comes before t.Parallel.
func sending(t *testing.T, to string, n int) (exports []*telemetry.Export, origin sdktrace.SpanExporter) {
	t.Helper()
	t.Run("by the variables", func(t *testing.T) {
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://"+to)
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
		t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
		for i := range n {
			x, err := telemetry.OpenExport(context.Background(), fmt.Sprintf("node-%d", i), 1)
			if err != nil {
				t.Fatal(err)
			}
			exports = append(exports, x)
		}
		var err error
		if origin, err = autoexport.NewSpanExporter(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	return exports, origin
}

// shop serves a page behind the middleware, which traces its requests as their header says, and gives its address.
func shop(t *testing.T, sluice, reach string, to sdktrace.SpanExporter) string {
	t.Helper()
	guard, err := pass.NewMiddleware(pass.Options{
		Service: sluice, Reach: reach, TraceShare: 1, Item: func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/product/") },
	})
	if err != nil {
		t.Fatal(err)
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(to))
	page := func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		_, span := traces.Tracer("shop").Start(ctx, "GET /product/{item}", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		fmt.Fprint(w, "sold")
	}
	s := httptest.NewServer(guard.Handler(http.HandlerFunc(page)))
	t.Cleanup(func() {
		s.Close()
		if err := traces.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

// A visitor's way over two nodes and a shop is one trace: join, polls, admission and the first request inside hang below the
// wait, calls of the store below the requests that make them. Sales and operators have traces of their own.
//
// B092: of whatever is asked, the names of spans stay few, and nothing of it that belongs to a visitor is in a span. B088: nor do the metrics grow.
func TestAVisitorsWaitIsOneTrace(t *testing.T) {
	to := received{oteltest.NewReceiver(t)}
	exports, origin := sending(t, oteltest.Through(t, to.Receiver), 2)
	t.Parallel()
	r := newRigOf(t, 0, 100)
	r.exports = exports
	r.start(0, nil)
	r.start(1, nil)
	r.policy("sku-1", map[string]any{"inflow_per_second": 5})
	r.activate("sku-1")
	v := r.visitor()
	if a := v.check(0, "sku-1"); a.Reason != "queue_on" {
		t.Fatalf("%s/%s", a.Action, a.Reason)
	}
	ticket := v.ticket
	r.eventually(10*time.Second, "the visitor is let in", func() bool { return v.status(1, "sku-1").Action == "pass" })
	if a := v.check(1, "sku-1"); a.Reason != "pass_valid" {
		t.Fatalf("%s/%s", a.Action, a.Reason)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shop(t, "http://shop.test", "http://"+r.nodes[1].Addresses().Visitor, origin)+"/product/sku-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sluice-Pass", v.passes)
	if resp, err := r.client.Do(req); err != nil || read(resp) != "sold" {
		t.Fatalf("the shop's answer: %v, %v", resp, err)
	}

	r.eventually(10*time.Second, "the wait is told", func() bool { return len(to.of(named("wait"))) == 1 })
	wait := to.of(named("wait"))[0]
	if len(wait.ParentSpanId) != 0 || wait.EndTimeUnixNano < wait.StartTimeUnixNano {
		t.Errorf("the wait: %v", wait)
	}
	const check, poll, bought = "GET /v1/items/{item}/check", "GET /v1/items/{item}/status", "GET /product/{item}"
	of := func() []*otlp.Span {
		return to.of(func(s *otlp.Span) bool { return string(s.TraceId) == string(wait.TraceId) })
	}
	names := func() map[string]int {
		n := map[string]int{}
		for _, s := range of() {
			n[s.Name]++
		}
		return n
	}
	r.eventually(10*time.Second, "the whole way is told", func() bool {
		n := names()
		return n[check] == 2 && n[poll] > 0 && n["script join"] > 0 && n[bought] == 1
	})
	byID := map[string]*otlp.Span{}
	for _, s := range of() {
		byID[string(s.SpanId)] = s
	}
	for _, s := range of() {
		parent := byID[string(s.ParentSpanId)]
		switch {
		case s == wait:
		case parent == nil:
			t.Errorf("%s hangs below a span that is not there", s.Name)
		case strings.HasPrefix(s.Name, "GET "):
			if parent != wait || s.Kind != otlp.Span_SPAN_KIND_SERVER {
				t.Errorf("%s, a %v, hangs below %s", s.Name, s.Kind, parent.Name)
			}
		case parent == wait || s.Kind != otlp.Span_SPAN_KIND_CLIENT:
			t.Errorf("%s, a %v, hangs below %s", s.Name, s.Kind, parent.Name)
		}
	}

	// Who looks at the waits finds the trace of one.
	exemplar := regexp.MustCompile(`(?m)^sluice_wait_seconds_bucket\{.* # \{trace_id="` + fmt.Sprintf("%x", wait.TraceId) + `"\}`)
	if !exemplar.MatchString(r.page(r.nodes[0]) + r.page(r.nodes[1])) {
		t.Error("no exemplar leads to the wait")
	}

	at := time.Now().Add(time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
	r.must("POST", "/sales", map[string]any{"name": "Friday", "item": "sku-2", "opens_at": at, "overrides": map[string]any{"inflow_per_second": 1}})
	r.must("POST", "/webhooks", map[string]any{"url": "https://127.0.0.1:9/"})
	for _, name := range []string{"PATCH /admin/api/v1/policies/{pattern}", "POST /admin/api/v1/sales", "mover tick", "script step", "sale step", "script switch", "redis switch", "sql.conn.exec", "send webhook"} {
		r.eventually(10*time.Second, "a span "+name, func() bool { return len(to.of(named(name))) > 0 })
	}

	// A caller's own trace goes on, with a link to the wait.
	const caller = "0af7651916cd43dd8448eb211c80319c"
	r.get("GET", "/v1/items/sku-1/check", http.Header{"Traceparent": {"00-" + caller + "-b7ad6b7169203331-01"}, "Sluice-Visitor": {v.token}, "Sluice-Ticket": {ticket}})
	var linked []*otlp.Span
	r.eventually(10*time.Second, "the caller's trace goes on", func() bool {
		linked = to.of(func(s *otlp.Span) bool { return fmt.Sprintf("%x", s.TraceId) == caller && s.Name == check })
		return len(linked) == 1
	})
	if len(linked[0].Links) != 1 || fmt.Sprintf("%x", linked[0].ParentSpanId) != "b7ad6b7169203331" {
		t.Errorf("the caller's span: %v", linked[0])
	}

	r.floods()
	r.eventually(10*time.Second, "odd methods are one", func() bool {
		return len(to.of(func(s *otlp.Span) bool { return s.Name == "_OTHER" })) > 0
	})
	seen := map[string]bool{}
	for _, s := range to.of(func(*otlp.Span) bool { return true }) {
		seen[s.Name] = true
		for _, a := range s.Attributes {
			text := a.Value.String()
			for what, word := range map[string]string{"a token": v.token, "a ticket": ticket, "a pass": v.passes, "a user": "somebody-", "an address to return to": "return-to", "a path": "/made/up", "a cookie": "my-cookie"} {
				if word != "" && strings.Contains(text, word) {
					t.Fatalf("%s has %s in %s", s.Name, what, a.Key)
				}
			}
		}
	}
	if len(seen) > 40 {
		t.Errorf("%d names of spans: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
	for i, n := range r.nodes {
		began := time.Now()
		lines := strings.Split(r.page(n), "\n")
		if took := time.Since(began); len(lines) > 3500 || took > 5*time.Second { // with comments; bounds of time are held where nothing else runs
			t.Errorf("node %d: %d lines in %v", i, len(lines), took)
		}
		series := 0
		for _, line := range lines {
			if line != "" && !strings.HasPrefix(line, "#") {
				series++
			}
		}
		if series >= 3000 {
			t.Errorf("node %d: %d series", i, series)
		}
	}
}

// get asks the first node, and gives the status.
func (r *rig) get(method, path string, h http.Header) int {
	r.t.Helper()
	req, err := http.NewRequest(method, "http://"+r.nodes[0].Addresses().Visitor+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header = h
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	read(resp)
	return resp.StatusCode
}

// page is what the metrics of a node are, with exemplars.
func (r *rig) page(n *node) string {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+n.Addresses().Ops+"/metrics", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	return read(resp)
}

// floods asks for a thousand items (in full 50,000) in all ways there are, and for much that is not there.
func (r *rig) floods() {
	r.t.Helper()
	items := 1000
	if full {
		items = 50_000
	}
	h := func(i int) http.Header {
		return http.Header{
			"User-Agent": {fmt.Sprint("agent ", i)}, "Accept-Language": {fmt.Sprintf("x-%d", i)}, "Cookie": {fmt.Sprintf("my-cookie=%d", i)},
			"X-Original-Uri": {fmt.Sprintf("/made/up/%d", i)}, "X-Forwarded-For": {fmt.Sprintf("10.1.%d.%d", i/250%250, i%250)},
		}
	}
	together(8, func(worker int) {
		for i := worker; i < items; i += 8 {
			item := fmt.Sprintf("made-up-%d", i)
			for _, path := range []string{
				"/v1/items/" + item + "/check?user=somebody-" + fmt.Sprint(i), "/v1/items/" + item + "/status?return=http://shop.test/return-to",
				"/v1/authorize?item=" + item,
			} {
				r.get("GET", path, h(i))
			}
			traced := h(i) // what leads nowhere is in a trace only where its caller has one
			traced.Set("Traceparent", fmt.Sprintf("00-%032x-%016x-01", i+1, i+1))
			r.get("GET", "/made/up/"+fmt.Sprint(i), traced)
			r.get(fmt.Sprintf("M%d", i), "/v1/items/"+item+"/check", traced)
			if i < 50 {
				r.admin("GET", "/items/"+item+"/visitors/somebody-"+fmt.Sprint(i), nil)
			}
		}
	})
}
