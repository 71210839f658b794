package gate

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// Probes answer whether the process runs and whether it can serve, for whichever listener.

// Health answers 200 while the process runs.
func (g *Gate) Health(w http.ResponseWriter, _ *http.Request) {
	probe(w, http.StatusOK, `{"status":"ok"}`)
}

// Ready answers 200 while the node can serve, also while the store is away, and 503 while it starts or drains and until
// it has seen the settings. It says how the store is: for the operations listener.
func (g *Gate) Ready(w http.ResponseWriter, _ *http.Request) {
	store := "up"
	if !g.StoreUp() {
		store = "down"
	}
	status, word := g.readiness()
	probe(w, status, `{"status":"`+word+`","store":"`+store+`"}`)
}

func (g *Gate) readiness() (int, string) {
	select {
	case <-g.draining:
		return http.StatusServiceUnavailable, "draining"
	default:
	}
	if !g.Options.Ready() || !g.Settings.Now().Known() {
		return http.StatusServiceUnavailable, "starting"
	}
	return http.StatusOK, "ready"
}

// healthz and readyz are the probes of the visitor listener, which tells nobody how the store is.
func (g *Gate) healthz(c *gin.Context) { g.Health(c.Writer, c.Request) }

func (g *Gate) readyz(c *gin.Context) {
	status, word := g.readiness()
	probe(c.Writer, status, `{"status":"`+word+`"}`)
}

func probe(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, noStore
	w.WriteHeader(status)
	w.Write(append([]byte(body), '\n'))
}
