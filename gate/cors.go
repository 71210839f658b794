package gate

import (
	"net/http"
	"slices"

	"github.com/sluicehq/sluice/queue"
)

// Ready header values: the same slices for every answer, so that writing them costs nothing.
var (
	varyOrigin    = []string{"Origin"}
	yes           = []string{"true"}
	corsExpose    = []string{"Location, Retry-After, Sluice-Action, Sluice-Pass, Sluice-Reason, X-Request-Id"}
	corsMethods   = []string{"GET, POST, DELETE, HEAD"}
	corsHeaders   = []string{"Content-Type, Sluice-Pass, Sluice-Ticket, Sluice-Visitor, X-Request-Id, Traceparent, Tracestate"}
	corsMaxAge    = []string{"600"}
	noStore       = []string{"no-store"}
	jsonType      = []string{"application/json; charset=utf-8"}
	htmlType      = []string{"text/html; charset=utf-8"}
	noReferrer    = []string{"no-referrer"}
	noIndex       = []string{"noindex"}
	noSniff       = []string{"nosniff"}
	publicFor5Min = []string{"public, max-age=300"}
)

// allowOrigin lets the page of another origin read the answer, with credentials, where the policy lists the origin: that
// origin by name, never `*`. It reports whether it did.
func allowOrigin(h http.Header, r *http.Request, p *queue.Policy) bool {
	if len(p.AllowedOrigins) == 0 {
		return false
	}
	// Which origin asks decides what is in the answer.
	h["Vary"] = varyOrigin
	origin := r.Header["Origin"]
	if len(origin) != 1 || !slices.Contains(p.AllowedOrigins, queue.Origin(origin[0])) {
		return false
	}
	h["Access-Control-Allow-Origin"] = origin
	h["Access-Control-Allow-Credentials"] = yes
	h["Access-Control-Expose-Headers"] = corsExpose
	return true
}

// preflight answers a browser that asks whether it may ask: 204, from memory alone.
func preflight(h http.Header, r *http.Request, p *queue.Policy) {
	if allowOrigin(h, r, p) {
		h["Access-Control-Allow-Methods"] = corsMethods
		h["Access-Control-Allow-Headers"] = corsHeaders
		h["Access-Control-Max-Age"] = corsMaxAge
	}
}
