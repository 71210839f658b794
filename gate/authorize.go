package gate

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// authorize answers a proxy that asks whether it may hand a request on.
func (g *Gate) authorize(c *gin.Context) error {
	r, h := c.Request, c.Writer.Header()
	o := original(c)
	if o.method == http.MethodOptions {
		c.Status(http.StatusNoContent) // a preflight has no cookies; what follows it is asked about again
		return nil
	}
	item, matched, err := g.authorizedItem(r, o.targets)
	if err != nil {
		return err
	}
	if !matched {
		c.Status(http.StatusNoContent)
		return nil
	}
	q := g.ask(item)
	defer q.release()
	allowOrigin(h, r, q.policy)
	q.peek = peeks(r) || o.method == http.MethodHead
	q.asset, q.media = pass.Asset(r)
	q.counts = !q.peek && !q.asset
	q.create = !q.asset
	if err := g.identify(r, q, false); err != nil {
		return err
	}
	v := &q.said
	if *v, err = g.decide(r.Context(), q); err != nil {
		return err
	}
	if q.counts {
		g.Recorder.Check(item, v.action, v.reason)
	}
	rep := g.settle(h, r, q, v, g.originalAddress(r, q, o))
	onlyLast(h, "Set-Cookie")
	if v.action == Pass {
		if rep.pass != "" {
			h[passHeader] = []string{rep.pass}
		}
		c.Status(http.StatusNoContent)
		return nil
	}
	h["Sluice-Action"], h["Sluice-Reason"] = []string{string(v.action)}, []string{string(v.reason)}
	status := http.StatusUnauthorized
	if !q.asset {
		if rep.waitURL == "" {
			rep.waitURL = g.waitURL(q, v, g.originalAddress(r, q, o)) // a refusal too has its page
		}
		h["Location"] = []string{rep.waitURL}
		if again, _, _ := param(r, "redirect"); again == "1" && !pass.Fetch(r) {
			status = http.StatusFound
		}
	}
	c.Writer.WriteHeader(status)
	c.Writer.WriteHeaderNow()
	return nil
}

// request is what the proxy says of the request that it asks about.
type request struct {
	method  string
	targets []string // its target, as the proxies' different headers have it
}

// original reads the original request: method and target from the headers that proxies set, and from this request.
// A proxy sets one header of each kind and may hand on the other as the visitor sent it: where the methods differ, the
// request is no preflight. In the path form the query too is the original's, and nothing in it is a parameter of ours.
func original(c *gin.Context) request {
	r := c.Request
	o := request{method: r.Method}
	named := ""
	for _, name := range [...]string{"X-Original-Method", "X-Forwarded-Method"} {
		m := strings.ToUpper(header(r, name))
		switch {
		case m == "":
		case named == "" || named == http.MethodOptions:
			named = m
		}
	}
	if named != "" {
		o.method = named
	}
	for _, name := range [...]string{"X-Original-Uri", "X-Forwarded-Uri"} {
		if t := header(r, name); t != "" && !slices.Contains(o.targets, t) {
			o.targets = append(o.targets, t)
		}
	}
	if path := c.Param("path"); path != "" {
		if r.URL.RawQuery != "" {
			path += "?" + r.URL.RawQuery
			r.URL.RawQuery = ""
		}
		if !slices.Contains(o.targets, path) {
			o.targets = append(o.targets, path)
		}
	}
	return o
}

// authorizedItem finds the item: as the proxy names it, else by the patterns. Proxies set one of the two headers of the
// target, or the path, and hand on the others as the visitor sent them: so each is tried, one that no pattern matches
// hides nothing, and of two items the one with a queue counts.
func (g *Gate) authorizedItem(r *http.Request, targets []string) (item queue.Item, matched bool, err error) {
	if named := header(r, "X-Sluice-Item"); named != "" {
		item, err := queue.ParseItem(named)
		return item, err == nil, err
	}
	for _, t := range targets {
		found, ok := g.Patterns.Item(t)
		if ok && (!matched || g.Board.Get(found).On()) {
			item, matched = found, true
		}
	}
	return item, matched, nil
}

// originalAddress is where the waiting page leads back to: the original path, at another host only if a trusted proxy
// names it and the policy allows it. "" where the original target is nothing to return to.
func (g *Gate) originalAddress(r *http.Request, q *question, o request) string {
	if len(o.targets) == 0 {
		return ""
	}
	path := o.targets[0]
	if _, rest, ok := strings.Cut(path, "://"); ok && !strings.HasPrefix(path, "/") {
		// A whole address: its path only.
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			path = rest[i:]
		} else {
			path = "/"
		}
	}
	if host := header(r, "X-Forwarded-Host"); host != "" && g.TrustedProxies.Trust(r) {
		proto := header(r, "X-Forwarded-Proto")
		if proto == "" {
			proto = "https"
		}
		if origin, rest, ok := queue.ParseOrigin(proto + "://" + host); ok && rest == "" && origin != g.site.origin && slices.Contains(q.policy.ReturnOrigins, origin) && strings.HasPrefix(path, "/") {
			if back, err := parseReturn(string(origin)+path, g.site.origin, q.policy.ReturnOrigins); err == nil {
				return back
			}
		}
	}
	back, err := parseReturn(path, g.site.origin, nil)
	if err != nil {
		return ""
	}
	return back
}

// onlyLast leaves one line of a header: nginx hands on a single Set-Cookie, and the last is the one that carries all.
func onlyLast(h http.Header, name string) {
	if v := h[name]; len(v) > 1 {
		h[name] = v[len(v)-1:]
	}
}

// otherMethod answers the methods that an address has no handler for. A proxy may ask with the original one, whatever
// that is; and OPTIONS is answered everywhere, with the methods there are.
func (g *Gate) otherMethod(c *gin.Context) {
	path := c.Request.URL.EscapedPath()
	switch {
	case path == "/v1/authorize", strings.HasPrefix(path, "/v1/authorize/"):
		c.Writer.Header().Del("Allow")
		c.Params = gin.Params{{Key: "path", Value: strings.TrimPrefix(path, "/v1/authorize")}}
		problem.Handle(g.authorize)(c)
	case c.Request.Method == http.MethodOptions:
		c.Status(http.StatusNoContent)
	default:
		problem.MethodNotAllowed(c)
	}
}
