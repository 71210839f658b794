package telemetry

import (
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/telemetry/series"
)

// classes are the classes of a status.
var classes = [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// route is what is counted of one route of a listener.
type route struct {
	classes [len(classes)]prometheus.Counter
	seconds prometheus.Observer // nil of streams, which last as long as people wait
}

// Requests measures the requests of a listener. Of the paths given each is a route of its own, with its series from the
// start; all others are series.OtherRoute. It comes before everything that answers.
func (m *Metrics) Requests(listener string, paths ...string) gin.HandlerFunc {
	routes := map[string]*route{}
	for _, path := range append(paths, series.OtherRoute) {
		r := &route{}
		for i, class := range classes {
			r.classes[i] = m.requests.WithLabelValues(listener, path, class)
		}
		if !strings.HasSuffix(path, "/events") {
			r.seconds = m.seconds.WithLabelValues(listener, path)
		}
		routes[path] = r
	}
	other := routes[series.OtherRoute]
	return func(c *gin.Context) {
		began := time.Now()
		c.Next()
		r := routes[c.FullPath()]
		if r == nil {
			r = other
		}
		if i := c.Writer.Status()/100 - 1; i >= 0 && i < len(classes) {
			r.classes[i].Inc()
		}
		if r.seconds != nil {
			took := time.Since(began).Seconds()
			if span := trace.SpanContextFromContext(c.Request.Context()); span.IsSampled() {
				r.seconds.(prometheus.ExemplarObserver).ObserveWithExemplar(took, prometheus.Labels{traceLabel: span.TraceID().String()})
			} else {
				r.seconds.Observe(took)
			}
		}
		if code := problem.CodeOf(c); code != "" {
			if n := m.problems[code]; n != nil {
				n.Inc()
			}
		}
	}
}
