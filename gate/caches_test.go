package gate

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

// B112, never-cached: behind a cache that ignores cookies and keeps whatever it is not told to leave (200, 301, 302, 401,
// 404, and files by their suffix for sure) nobody gets what is another's; and what may be kept is nobody's.
func TestASharedCacheGivesNobodyWhatIsAnothers(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) {
		shop(p)
		p.InflowPerSecond = 0
	}, func(o *Options) { o.PassCookie = true })
	for _, item := range []queue.Item{"sku-1", "sku-1.css", "a.js", "b.png"} {
		r.activate(item)
	}
	r.do("shut", queue.SwitchOrder{Action: queue.Close})
	for item, status := range map[queue.Item]int{"busy": http.StatusTooManyRequests, "away": http.StatusServiceUnavailable} {
		r.policy(queue.Pattern(item), func(p *queue.Policy) { p.InflowPerSecond, p.WaitPage.Status = 0, status })
		r.activate(item)
		if w := r.browser().do(http.MethodGet, "/wait/"+string(item)); w.Code != status {
			t.Errorf("the page of %s: %d", item, w.Code)
		}
	}
	kept := 0
	for _, request := range []string{
		"GET /wait/sku-1", "GET /wait/sku-1.css", "GET /wait/b.png?return=/x", "GET /wait/off?return=/x", "GET /wait/shut", "GET /wait/busy", "GET /wait/away", "GET /wait/sku-1/left", "POST /wait/sku-1/leave",
		"GET /wait/sku-1?return=//evil.example", "GET /wait/%00", "HEAD /wait/sku-1", "GET /v1/items/sku-1/check", "POST /v1/items/a.js/check", "GET /v1/items/a.js/check",
		"GET /v1/items/b.png/status", "GET /v1/items/nowhere.css/status", "GET /v1/items/sku-1/events", "DELETE /v1/items/a.js/place", "POST /v1/items/a.js/finish",
		"GET /v1/authorize/product/sku-1", "GET /v1/authorize/product/a.js?x=.css", "GET /v1/authorize/about.png", "GET /nowhere.css", "GET /sluice.css", "PUT /sluice.js",
		"POST /v1/passes/renew", "GET /connector/?c=x&e=y", "GET /sluice.js", "GET /openapi.json", "GET /.well-known/jwks.json",
	} {
		method, path, _ := strings.Cut(request, " ")
		for _, pairs := range [][]string{{}, {"Sec-Fetch-Dest", "image"}, {"Accept", "application/json"}, {"Authorization", "Bearer x"}} {
			c := r.browser().with(pairs...)
			if !strings.Contains(path, "events") {
				c.do(method, path) // so that a second answer has something to tell
			} else if len(pairs) > 0 {
				continue
			}
			w := c.do(method, path)
			h := w.Header()
			switch cc := h.Get("Cache-Control"); {
			case cc == "no-store":
			case cc == "public, max-age=300" && w.Code == http.StatusOK:
				kept++
				if h["Set-Cookie"] != nil {
					t.Errorf("%s may be kept: %v", request, h)
				}
			default:
				t.Errorf("%s %v: %d %q", request, pairs, w.Code, cc)
			}
		}
	}
	if kept != 12 {
		t.Errorf("%d answers may be kept", kept)
	}
}
