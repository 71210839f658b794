package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/proxies"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
)

// B065
func TestOddPathsHaveOneFixedAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	for _, path := range []string{
		"/v1/items/sku-1/check/", "/v1//items/sku-1/check", "/V1/items/sku-1/check", "/v1/items/sku-1/../sku-2/check", "/v1/items/sku-1/CHECK",
		"//v1/items/sku-1/check", "/v1/items/check", "/v1/items/sku-1", "/wait/", "/wait/sku-1/", "/", "/v1/items/sku-1/check;x=1",
		"/v1/items/./sku-1/check", "/v1/items/sku-1/%63heck/x",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			w := r.browser().do(method, path+"?x=1")
			if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != problem.ContentType || w.Header().Get("Location") != "" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Header())
			}
		}
	}
	for _, item := range []queue.Item{"sku-1", "sku-2", "check"} {
		if n := r.requests(item); n != 0 {
			t.Errorf("%s has a traffic of %d", item, n)
		}
	}
}

// B067
func TestAnEncodedSlashChangesNoRoute(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	for path, code := range map[string]int{
		"/v1/items/x%2Fstatus/check": 400, "/v1/items/x%2fcheck/check": 400, "/v1/items/x%2Fplace/status": 400, "/v1/items/%2F/check": 400,
		"/wait/x%2Fy": 400, "/v1/items//check": 400, "/v1/items/%2e%2e%2fsku/check": 400, "/v1/items/a%2541/check": 400, "/v1/items/a%25/check": 400, "/v1/items/a+b/check": 400,
		"/v1/items/a%20b/check": 400, "/v1/items/%E3%81%82/check": 400, "/v1/items/" + strings.Repeat("x", 129) + "/check": 400,
		"/v1/items/sku:1/check": 200, "/v1/items/sku%3A1/check": 200, "/v1/items/%73ku-1/check": 200, "/v1/items/..~@-_./check": 200,
	} {
		w := r.browser().do(http.MethodGet, path)
		if w.Code != code || code == 400 && !strings.Contains(w.Body.String(), `"invalid_item"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if b := r.browser().get("/v1/items/sku%3A1/check"); b.Item != "sku:1" {
		t.Errorf("item %q", b.Item)
	}
}

// B062
func TestForwardedHeadersOfStrangersAreNotBelieved(t *testing.T) {
	t.Parallel()
	evil := []string{"X-Forwarded-For", "127.0.0.1", "X-Real-IP", "10.0.0.1", "Forwarded", "for=10.0.0.1;host=evil.example;proto=http", "CF-Connecting-IP", "10.0.0.1",
		"X-Forwarded-Proto", "http", "X-Forwarded-Host", "evil.example", "X-Sluice-Item", "sku-1", "X-Original-Uri", "http://evil.example/product/sku-1"}
	for _, remote := range []string{"198.51.100.4:999", "127.0.0.1:999"} {
		r := newRig(t, 1, shop)
		r.activate("sku-1")
		for _, path := range []string{"/v1/items/sku-1/check?return=/x", "/v1/authorize", "/v1/authorize?redirect=1", "/wait/sku-1"} {
			c := r.browser().with(evil...)
			c.remote = remote
			w := c.do(http.MethodGet, path)
			all := fmt.Sprint(w.Header(), w.Body)
			if strings.Contains(all, "evil.example") {
				t.Errorf("%s from %s: %s", path, remote, all)
			}
			if loc := w.Header().Get("Location"); loc != "" && !strings.HasPrefix(loc, "https://queue.example/") {
				t.Errorf("%s from %s: Location %s", path, remote, loc)
			}
			for _, line := range w.Header()["Set-Cookie"] {
				if !strings.Contains(line, "; Secure") || strings.Contains(line, "Domain") {
					t.Errorf("cookie %s", line)
				}
			}
		}
		if strings.Contains(r.log.String(), "evil.example") {
			t.Error("it is in the log")
		}
	}
	// What a trusted proxy says is taken where the policy allows it, and from nobody else.
	r := newRig(t, 1, shop, func(o *Options) {
		o.TrustedProxies = proxies.Trusted{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}
	})
	r.activate("sku-1")
	for remote, want := range map[string]string{
		"10.1.2.3:80": "https://shop.example/product/sku-1?a=1", "[2001:db8::1]:80": "https://shop.example/product/sku-1?a=1",
		"[::ffff:10.1.2.3]:80": "https://shop.example/product/sku-1?a=1", "127.0.0.1:80": "/product/sku-1?a=1", "[2001:db8::2]:80": "/product/sku-1?a=1",
	} {
		c := r.browser().with("X-Forwarded-Host", "shop.example", "X-Forwarded-Proto", "https", "X-Forwarded-Uri", "/product/sku-1?a=1")
		c.remote = remote
		w := c.do(http.MethodGet, "/v1/authorize")
		if at := httpURL(t, w.Header().Get("Location")); at.Query().Get("return") != want {
			t.Errorf("from %s: return %q, want %q", remote, at.Query().Get("return"), want)
		}
	}
}

// B113
func TestPreflights(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) {
		p.AllowedOrigins = []queue.Origin{"https://app.example"}
		p.TriggerRequests = 500
	})
	r.activate("on")
	for _, tc := range []struct {
		origin  string
		allowed bool
	}{{"https://app.example", true}, {"https://evil.example", false}, {"null", false}, {"", false}, {"https://APP.example", false}, {"https://app.example.evil.example", false}} {
		c := r.browser()
		if tc.origin != "" {
			c = c.with("Origin", tc.origin, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "sluice-visitor")
		}
		for _, path := range []string{"/v1/items/on/check", "/v1/items/on/status", "/v1/items/on/events", "/v1/items/on/place", "/v1/items/on/finish", "/wait/on"} {
			w := c.do(http.MethodOptions, path)
			h := w.Header()
			if w.Code != http.StatusNoContent || h.Get("Set-Cookie") != "" || h.Get("Vary") != "Origin" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("preflight of %s from %q: %d %s", path, tc.origin, w.Code, h)
			}
			got := h.Get("Access-Control-Allow-Origin")
			if tc.allowed && (got != tc.origin || h.Get("Access-Control-Allow-Credentials") != "true" || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Sluice-Visitor") || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "DELETE")) || !tc.allowed && got != "" {
				t.Errorf("preflight of %s from %q: %s", path, tc.origin, h)
			}
		}
		w := c.do(http.MethodGet, "/v1/items/on/check")
		if got := w.Header().Get("Access-Control-Allow-Origin"); (got == tc.origin) != tc.allowed && tc.origin != "" {
			t.Errorf("check from %q: %s", tc.origin, w.Header())
		}
		w = c.do(http.MethodGet, "/v1/items/on/check?return=//x") // errors too can be read
		if got := w.Header().Get("Access-Control-Allow-Origin"); (got == tc.origin) != tc.allowed && tc.origin != "" {
			t.Errorf("a refusal to %q: %s", tc.origin, w.Header())
		}
	}
	waiting := r.counts("on").Waiting
	for i := range 600 {
		c := r.browser().with("Origin", "https://app.example")
		c.do(http.MethodOptions, "/v1/items/quiet/check")
		for _, name := range []string{"X-Forwarded-Method", "X-Original-Method"} {
			w := c.with(name, "OPTIONS", "X-Sluice-Item", []string{"quiet", "on"}[i%2], "Access-Control-Request-Method", "POST").do(http.MethodGet, "/v1/authorize?redirect=1")
			if w.Code != http.StatusNoContent || w.Header().Get("Set-Cookie") != "" {
				t.Fatalf("the shop's preflight: %d %s", w.Code, w.Header())
			}
		}
	}
	if w := r.browser().with("X-Sluice-Item", "on").do(http.MethodOptions, "/v1/authorize"); w.Code != http.StatusNoContent {
		t.Errorf("a preflight handed on as it is: %d", w.Code)
	}
	if n := r.requests("quiet"); n != 0 || r.header("quiet").On() {
		t.Errorf("preflights are traffic: %d", n)
	}
	if n := r.counts("on").Waiting; n != waiting {
		t.Errorf("preflights made %d places", n-waiting)
	}
}

// However an operator writes an origin, it is the browser's.
func TestOriginsMatchHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ written, browser string }{
		{"https://shop.example:443", "https://shop.example"}, {"https://SHOP.example", "https://shop.example"}, {"http://shop.example:80", "http://shop.example"},
		{"https://bücher.example", "https://xn--bcher-kva.example"}, {"https://[2001:DB8:0::1]", "https://[2001:db8::1]"},
	} {
		r := newRig(t, 1, func(p *queue.Policy) {
			if err := json.Unmarshal(fmt.Appendf(nil, `{"return_origins":[%q],"allowed_origins":[%[1]q]}`, tc.written), p); err != nil {
				t.Fatal(err)
			}
		})
		w := r.browser().with("Origin", tc.browser).do(http.MethodGet, "/v1/items/x/check")
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != tc.browser {
			t.Errorf("%s: allowed %q", tc.written, got)
		}
		for _, address := range []string{tc.written + "/a//b", tc.browser + "/a//b"} {
			w := r.browser().do(http.MethodGet, "/wait/x?return="+url.QueryEscape(address))
			loc, err := url.Parse(w.Header().Get("Location"))
			if w.Code != http.StatusFound || err != nil || strings.ContainsFunc(loc.String(), func(c rune) bool { return c >= 0x80 || c == '%' }) || loc.Path != "/a//b" {
				t.Errorf("%s: %d %s", address, w.Code, w.Header())
			}
		}
	}
}

// Every address answers OPTIONS, and HEAD where it answers GET; neither is refused for being what it is.
func TestEveryRouteAnswersOptionsAndHead(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	r.activate("on")
	gets := map[string]bool{}
	for _, e := range r.nodes[0].engine().Routes() {
		path := strings.NewReplacer(":item", "on", "*path", "product/on").Replace(e.Path)
		gets[path] = gets[path] || e.Method == http.MethodGet
	}
	for path, get := range gets {
		w := r.browser().do(http.MethodOptions, path)
		if w.Code != http.StatusNoContent || w.Header().Get("Set-Cookie") != "" || w.Header().Get("Cache-Control") != "no-store" || w.Body.Len() > 0 {
			t.Errorf("OPTIONS %s: %d %s", path, w.Code, w.Header())
		}
		if !get {
			continue
		}
		c := r.browser()
		w = c.do(http.MethodHead, path)
		if w.Code == http.StatusMethodNotAllowed || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("HEAD %s: %d %s", path, w.Code, w.Header())
		}
		if of := c.do(http.MethodGet, path); strings.Contains(path, "/events") && w.Code != of.Code {
			t.Errorf("HEAD %s: %d, GET %d", path, w.Code, of.Code)
		}
	}
	c := r.browser()
	c.want(c.check("on"), "wait/queue_on")
	waiting := r.counts("on").Waiting
	for _, look := range []func() *httptest.ResponseRecorder{
		func() *httptest.ResponseRecorder { return c.do(http.MethodHead, "/v1/items/on/events") },
		func() *httptest.ResponseRecorder {
			return c.with("Purpose", "prefetch").do(http.MethodGet, "/v1/items/on/events")
		},
	} {
		if w := look(); w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			t.Errorf("a look at the stream: %d %s", w.Code, w.Header())
		}
	}
	if n := r.counts("on").Waiting; n != waiting {
		t.Errorf("looks made %d places", n-waiting)
	}
	if w := r.browser().do(http.MethodOptions, "/v1/passes/renew"); w.Header().Get("Allow") != "POST" {
		t.Errorf("Allow: %s", w.Header())
	}
}

// B118
func TestLooksCountAndClaimNothing(t *testing.T) {
	t.Parallel()
	looks := map[string]func(*client) *client{
		"Sec-Purpose":           func(c *client) *client { return c.with("Sec-Purpose", "prefetch") },
		"Sec-Purpose prerender": func(c *client) *client { return c.with("Sec-Purpose", "prefetch;prerender") },
		"Purpose":               func(c *client) *client { return c.with("Purpose", "prefetch") },
		"X-Moz":                 func(c *client) *client { return c.with("X-Moz", "prefetch") },
		"Next-Router-Prefetch":  func(c *client) *client { return c.with("Next-Router-Prefetch", "1") },
	}
	r := newRig(t, 1, func(p *queue.Policy) { p.TriggerRequests = 500; p.InflowPerSecond = 10 })
	for name, look := range looks {
		for range 130 {
			c := look(r.browser())
			w := c.do(http.MethodGet, "/v1/items/sku-1/check")
			c.want(parse(t, w), "pass/queue_off")
			a := c.with("X-Sluice-Item", "sku-1").do(http.MethodGet, "/v1/authorize")
			if w.Header().Get("Set-Cookie") != "" || a.Header().Get("Set-Cookie") != "" || a.Code != http.StatusNoContent {
				t.Fatalf("%s: %d %s %s", name, a.Code, w.Header(), a.Header())
			}
		}
	}
	r.browser().do(http.MethodHead, "/v1/items/sku-1/check")
	if n := r.requests("sku-1"); n != 0 || r.header("sku-1").On() {
		t.Fatalf("looks are traffic: %d", n)
	}
	r.activate("sku-1")
	r.pass(time.Second) // whoever asks in earnest now is let in at once
	for name, look := range looks {
		c := look(r.browser())
		if b := c.check("sku-1"); b.Action != "wait" || b.Pass != nil || b.ticket() != "" {
			t.Errorf("%s: %s", name, b.raw)
		}
		if w := c.with("X-Sluice-Item", "sku-1").do(http.MethodGet, "/v1/authorize?redirect=1"); w.Code == http.StatusNoContent || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s at authorize: %d", name, w.Code)
		}
		if w := c.do(http.MethodGet, "/wait/sku-1?return=/x"); w.Code != http.StatusOK || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s at the page: %d", name, w.Code)
		}
	}
	head := r.browser().do(http.MethodHead, "/v1/items/sku-1/check")
	if head.Code != http.StatusOK || head.Header().Get("Set-Cookie") != "" {
		t.Errorf("HEAD: %d %s", head.Code, head.Header())
	}
	if c := r.counts("sku-1"); c.Joined != 0 {
		t.Errorf("looks joined: %+v", c)
	}
	// An admission that waits for its visitor is not claimed by a look.
	r.do("sku-1", queue.SwitchOrder{Action: queue.Pause})
	c := r.browser()
	c.want(c.check("sku-1"), "wait/paused")
	r.do("sku-1", queue.SwitchOrder{Action: queue.Resume})
	r.pass(time.Second)
	for name, look := range looks {
		for _, path := range []string{"check", "status"} {
			if b := look(c).get("/v1/items/sku-1/" + path); b.Action == "pass" || b.Pass != nil {
				t.Errorf("%s of %s: %s", name, path, b.raw)
			}
		}
	}
	c.do(http.MethodHead, "/v1/items/sku-1/status")
	standing, _ := r.store.Find(t.Context(), "sku-1", r.visitor(c.want(c.get("/v1/items/other/check"), "pass/queue_off")))
	if standing.Outcome != queue.Inside || standing.Admission.ClaimedMS != 0 {
		t.Errorf("claimed: %+v", standing)
	}
	c.want(c.status("sku-1"), "pass/admitted")
	if b := looks["Purpose"](c).check("sku-1"); b.verdict() != "pass/pass_valid" {
		t.Errorf("whoever is inside may look: %s", b.raw)
	}
}

// B064
func TestAnswersBelongToWhoAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.InflowPerSecond = 20 })
	r.activate("sku-1")
	r.pass(time.Second)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			c := r.browser().at(i % 2)
			id := fmt.Sprint("request-", i)
			first := c.check("off")
			for round := range 10 {
				ctx, cancel := context.WithCancel(context.Background())
				req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/items/sku-1/check", nil)
				req.Header.Set("Cookie", "sluice_visitor="+c.cookies["sluice_visitor"])
				req.Header.Set("X-Request-Id", id)
				if (i+round)%2 == 0 {
					cancel() // gone before it is answered
				}
				w := httptest.NewRecorder()
				r.nodes[i%2].Handler().ServeHTTP(w, req)
				cancel()
				if got := w.Header().Get("X-Request-Id"); got != id {
					t.Errorf("request id %q, want %q", got, id)
				}
				if w.Body.Len() == 0 || w.Code != 200 {
					continue
				}
				b := parse(t, w)
				if r.visitor(b) != r.visitor(first) {
					t.Errorf("another's visitor")
				}
				if b.Pass != nil && r.claims(b.Pass.Token).Visitor != string(r.visitor(first)) {
					t.Error("another's pass")
				}
				if tk := b.ticket(); tk != "" {
					if open, err := r.nodes[0].Keys.OpenTicket("sku-1", tk, r.hand.Now()); err != nil || open.Visitor != r.visitor(first) {
						t.Error("another's ticket")
					}
				}
				for _, cookie := range w.Result().Cookies() {
					if jar, err := r.nodes[0].Keys.OpenJar(cookie.Value, r.hand.Now()); err != nil || jar.Visitor.ID != r.visitor(first) {
						t.Error("another's cookie")
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestRequestIds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	for _, path := range []string{"/v1/items/x/check", "/v1/items/x/status", "/nowhere", "/v1/items/%2F/check", "/wait/x", "/v1/authorize", "/.well-known/jwks.json", "/healthz", "/openapi.json", "/sluice.js"} {
		if id := r.browser().with("X-Request-Id", "abc-1").do(http.MethodGet, path).Header().Get("X-Request-Id"); id != "abc-1" {
			t.Errorf("%s: request id %q", path, id)
		}
		if id := r.browser().with("X-Request-Id", "<script>").do(http.MethodGet, path).Header().Get("X-Request-Id"); id == "" || id == "<script>" {
			t.Errorf("%s: request id %q", path, id)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	if w := r.browser().with("X-Padding", strings.Repeat("x", 17<<10)).do(http.MethodGet, "/v1/items/x/check"); w.Code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("17 KiB of headers: %d", w.Code)
	}
	if w := r.browser().do(http.MethodPost, "/v1/items/x/check", strings.Repeat("x", 65<<10)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of 65 KiB: %d", w.Code)
	}
	if w := r.browser().do(http.MethodDelete, "/v1/items/x/check"); w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Header().Get("Allow"), "GET") {
		t.Errorf("a wrong method: %d %s", w.Code, w.Header())
	}
}

// Invariant never-cached, B112: every answer of the visitor listener but the few that are everybody's, whatever suffix its
// address has.
func TestNoVisitorAnswerIsCached(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, shop)
	r.activate("on")
	for _, e := range r.nodes[0].engine().Routes() {
		for _, item := range []string{"on", "off", "bad%20item", "a.js", "sku-1.css"} {
			path := strings.NewReplacer(":item", item, "*path", "product/on").Replace(e.Path)
			if strings.HasSuffix(path, "/events") && item == "off" {
				path += "?x=1"
			}
			w := r.browser().do(e.Method, path)
			public := map[string]bool{"/.well-known/jwks.json": true, "/openapi.json": true, "/sluice.js": true}[path]
			if got := w.Header().Get("Cache-Control"); got != "no-store" && !public {
				t.Errorf("%s %s (%d): Cache-Control %q", e.Method, path, w.Code, got)
			}
			if public && w.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s sets a cookie", path)
			}
		}
	}
}

// Invariant one-reason: every pass is counted under its one reason, and nobody passes a queue that is on without one.
func TestEveryPassIsCountedUnderOneReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 5 })
	seen := map[string]int{}
	ask := func(c *client, path string) {
		b := c.get(path)
		if b.Action == "pass" || strings.HasSuffix(path, "/check") {
			seen[b.verdict()]++
		}
		if b.Action == "pass" && b.Queue.State != "off" && b.Reason == "queue_off" && r.data.Switch != settings.Pass {
			t.Errorf("passes an on queue: %s", b.raw)
		}
		if b.Reason == "pass_valid" || b.Reason == "admitted" || b.Reason == "grace" {
			if b.Pass == nil {
				t.Errorf("no pass: %s", b.raw)
			}
		} else if b.Pass != nil {
			t.Errorf("a pass: %s", b.raw)
		}
	}
	var clients []*client
	for range 10 {
		c := r.browser()
		clients = append(clients, c)
		ask(c, "/v1/items/sku-1/check")
	}
	r.pass(time.Second)
	r.activate("sku-1")
	for range 30 {
		clients = append(clients, r.browser())
	}
	for range 5 {
		for _, c := range clients {
			ask(c, "/v1/items/sku-1/check")
			ask(c, "/v1/items/sku-1/status")
		}
		r.pass(time.Second)
	}
	r.store.down.Store(true)
	for _, c := range clients {
		ask(c, "/v1/items/sku-1/check")
	}
	r.store.down.Store(false)
	r.all(settings.Pass)
	for _, c := range clients {
		ask(c, "/v1/items/sku-1/check")
	}
	for verdict, n := range seen {
		if got := r.nodes[0].verdicts.of(verdict); got != n {
			t.Errorf("%s: %d answered, %d counted", verdict, n, got)
		}
	}
	for _, want := range []string{"pass/queue_off", "pass/grace", "pass/admitted", "pass/pass_valid", "pass/store_down", "wait/queue_on"} {
		if seen[want] == 0 {
			t.Errorf("%s never occurred", want)
		}
	}
}

func TestTheCheckThatTripsTheTriggerWaitsItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.TriggerRequests = 50 })
	known := r.browser()
	known.want(known.check("sku-1"), "pass/queue_off")
	for range 48 {
		c := r.browser()
		c.want(c.check("sku-1"), "pass/queue_off")
	}
	for range 100 { // none of these is traffic
		r.browser().status("sku-1")
		r.browser().do(http.MethodGet, "/wait/sku-1")
	}
	if n := r.requests("sku-1"); n != 49 || r.header("sku-1").On() {
		t.Fatalf("traffic %d, on %v", n, r.header("sku-1").On())
	}
	c := r.browser()
	c.want(c.check("sku-1"), "wait/queue_on")
	if h := r.header("sku-1"); !h.On() || h.Cause != queue.ByDetector {
		t.Fatalf("header %+v", h)
	}
	known.want(known.check("sku-1"), "pass/grace")
}

func TestProbes(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	g := r.nodes[0].Gate
	ops := func(h http.HandlerFunc) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w
	}
	want := func(code int) {
		t.Helper()
		if w := r.browser().do(http.MethodGet, "/readyz"); w.Code != code || strings.Contains(w.Body.String(), "store") {
			t.Errorf("readyz: %d %s", w.Code, w.Body)
		}
		if w := ops(g.Ready); w.Code != code {
			t.Errorf("operations readyz: %d %s", w.Code, w.Body)
		}
		if w := r.browser().do(http.MethodGet, "/healthz"); w.Code != 200 {
			t.Errorf("healthz: %d", w.Code)
		}
	}
	want(200)
	r.store.down.Store(true)
	want(200)
	if w := ops(g.Ready); !strings.Contains(w.Body.String(), `"store":"down"`) {
		t.Errorf("operations readyz: %s", w.Body)
	}
	g.Settings = &settings.Holder{}
	want(503)
	g.Settings = r.settings
	want(200)
	g.Drain()
	g.Drain()
	want(503)
	c := r.browser()
	c.want(c.check("x"), "pass/queue_off") // requests in flight are answered all the same
}

func TestANodeIsNotReadyBeforeItsFirstLook(t *testing.T) {
	t.Parallel()
	var synced atomic.Bool
	r := newRig(t, 1, nil, func(o *Options) { o.Synced = synced.Load })
	if w := r.browser().do(http.MethodGet, "/readyz"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "starting") {
		t.Errorf("before: %d %s", w.Code, w.Body)
	}
	synced.Store(true)
	if w := r.browser().do(http.MethodGet, "/readyz"); w.Code != http.StatusOK {
		t.Errorf("after: %d %s", w.Code, w.Body)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	ok := r.nodes[0].Options
	for name, change := range map[string]func(*Options){
		"Line":          func(o *Options) { o.Line = nil },
		"public URL":    func(o *Options) { o.PublicURL = "queue.example" },
		"cookie domain": func(o *Options) { o.CookieDomain = "x; y" },
	} {
		o := ok
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
