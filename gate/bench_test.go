package gate

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/queue"
)

// discard is a ResponseWriter that costs next to nothing.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// benchmark sends one request again and again: what the server around the handler costs is in no figure.
func benchmark(b *testing.B, h http.Handler, target string, header http.Header) {
	b.Helper()
	b.ReportAllocs()
	req := httptest.NewRequest(http.MethodGet, target, nil)
	maps.Copy(req.Header, header)
	w := &discard{h: http.Header{}}
	for b.Loop() {
		clear(w.h)
		h.ServeHTTP(w, req)
	}
}

// The cost of a check beside that of a bare gin handler whose answer has the same size (docs/benchmarks.md measures
// the same over the network).
func BenchmarkCheck(b *testing.B) {
	r := newRig(b, 1, func(p *queue.Policy) { p.InflowPerSecond = 10; p.TriggerRequests = queue.MaxNumber }, func(o *Options) { o.Log = nil })
	g := r.nodes[0].Handler()
	r.activate("on")
	r.pass(time.Second)
	inside := r.app()
	pass := inside.check("on")
	for range 20 {
		r.app().check("on")
	}
	var far *client
	r.do("far", queue.SwitchOrder{Action: queue.Activate})
	for range 1000 {
		c := r.app()
		far = c.keep(c.check("far"))
	}
	visitor := r.app().check("off")
	b.Run("bare gin", func(b *testing.B) {
		gin.SetMode(gin.ReleaseMode)
		e := gin.New()
		body := []byte(visitor.raw)
		e.GET("/v1/items/:item/check", func(c *gin.Context) { c.Data(200, "application/json; charset=utf-8", body) })
		benchmark(b, e, "/v1/items/off/check", http.Header{"Sluice-Visitor": {visitor.Visitor}})
	})
	b.Run("off", func(b *testing.B) {
		benchmark(b, g, "/v1/items/off/check", http.Header{"Sluice-Visitor": {visitor.Visitor}})
	})
	b.Run("off, a stranger", func(b *testing.B) { benchmark(b, g, "/v1/items/off/check", nil) })
	b.Run("pass", func(b *testing.B) {
		benchmark(b, g, "/v1/items/on/check", http.Header{"Sluice-Visitor": {pass.Visitor}, "Sluice-Pass": {pass.pass()}})
	})
	b.Run("far", func(b *testing.B) { benchmark(b, g, "/v1/items/far/status", far.header) })
	b.Run("join", func(b *testing.B) { benchmark(b, g, "/v1/items/on/check", nil) })
}
