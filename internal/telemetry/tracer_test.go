package telemetry

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A caller's trace goes on or ends as the caller says; one that nobody can read is as none.
func TestACallersTrace(t *testing.T) {
	t.Parallel()
	const (
		id        = "4bf92f3577b34da6a3ce929d0e0e4736"
		sampled   = "00-" + id + "-00f067aa0ba902b7-01"
		unsampled = "00-" + id + "-00f067aa0ba902b7-00"
	)
	for _, c := range []struct {
		name, method, header string
		spans                int
		callers              bool // the span is of the caller's trace
	}{
		{"none, a write", http.MethodPut, "", 1, false},
		{"none, a read that is not drawn", http.MethodGet, "", 0, false},
		{"sampled, a read", http.MethodGet, sampled, 1, true},
		{"sampled, a write", http.MethodPut, sampled, 1, true},
		{"unsampled, a write", http.MethodPut, unsampled, 0, false},
		{"unreadable, a write", http.MethodPut, "00-what-ever-01", 1, false},
		{"of zeros, a write", http.MethodPut, "00-00000000000000000000000000000000-00f067aa0ba902b7-01", 1, false},
		{"unreadable, a read that is not drawn", http.MethodGet, "x", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spans := tracetest.NewSpanRecorder()
			tracer := (&Export{spans: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))}).Tracer() // draws nothing
			e := gin.New()
			e.Use(tracer.Requests(false, true))
			e.Any("/at", func(*gin.Context) {})
			r := httptest.NewRequest(c.method, "/at", nil)
			if c.header != "" {
				r.Header.Set("Traceparent", c.header)
			}
			e.ServeHTTP(httptest.NewRecorder(), r)
			got := spans.Ended()
			if len(got) != c.spans {
				t.Fatalf("%d spans, not %d", len(got), c.spans)
			}
			if len(got) == 1 && (got[0].SpanContext().TraceID().String() == id) != c.callers {
				t.Errorf("the span is of trace %s", got[0].SpanContext().TraceID())
			}
		})
	}
}
