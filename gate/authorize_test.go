package gate

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/queue"
)

// B074
func TestAuthorizeLeadsToThePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) {
		p.InflowPerSecond = 10
		p.AllowedOrigins = []queue.Origin{"https://app.example"}
	})
	r.activate("hot")
	c := r.browser().with("X-Original-Uri", "/Product/HOT?x=1&y=2")
	w := c.do(http.MethodGet, "/v1/authorize")
	at := httpURL(t, w.Header().Get("Location"))
	if w.Code != 401 || at.Path != "/wait/hot" || at.Query().Get("return") != "/Product/HOT?x=1&y=2" || w.Header().Get("Sluice-Action") != "wait" || w.Header().Get("Sluice-Reason") != "queue_on" || w.Body.Len() != 0 {
		t.Errorf("401: %d %s %s", w.Code, w.Header(), w.Body)
	}
	if n := len(w.Header()["Set-Cookie"]); n != 1 {
		t.Errorf("%d Set-Cookie lines", n)
	}
	same := func(name string, c *client, method, target string, code int) {
		t.Helper()
		w := c.do(method, target)
		if w.Code != code || code >= 300 && httpURL(t, w.Header().Get("Location")).Path != "/wait/hot" {
			t.Errorf("%s: %d %s", name, w.Code, w.Header())
		}
	}
	same("redirect", c, "GET", "/v1/authorize?redirect=1", 302)
	same("navigation", c.with("Sec-Fetch-Mode", "navigate", "Accept", "text/html,application/json;q=0.1"), "GET", "/v1/authorize?redirect=1", 302)
	same("HEAD", c, "HEAD", "/v1/authorize", 401)
	same("POST", c, "POST", "/v1/authorize", 401)
	same("PROPFIND", c, "PROPFIND", "/v1/authorize", 401)
	same("the path after it", r.browser(), "GET", "/v1/authorize/product/hot", 401)
	same("an unknown method and the path", r.browser(), "PROPFIND", "/v1/authorize/product/hot", 401)
	same("no match", r.browser().with("X-Forwarded-Uri", "/about"), "GET", "/v1/authorize", 204)
	same("nothing at all", r.browser(), "GET", "/v1/authorize", 204)
	same("a header that hides nothing", r.browser().with("X-Original-Uri", "/about", "X-Forwarded-Uri", "/product/hot"), "GET", "/v1/authorize", 401)
	// B160
	for _, pairs := range [][]string{{"X-Requested-With", "XMLHttpRequest"}, {"Accept", "application/json"}, {"Sec-Fetch-Dest", "empty", "Sec-Fetch-Mode", "cors"}} {
		w := c.with(pairs...).with("Origin", "https://app.example").do(http.MethodGet, "/v1/authorize?redirect=1")
		expose := w.Header().Get("Access-Control-Expose-Headers")
		if w.Code != 401 || w.Header().Get("Location") == "" || !strings.Contains(expose, "Location") || !strings.Contains(expose, "Sluice-Action") {
			t.Errorf("%v: %d %s", pairs, w.Code, w.Header())
		}
	}
	if n := r.counts("hot").Waiting; n != 4 {
		t.Errorf("%d wait", n)
	}
	r.pass(time.Second)
	w = c.do(http.MethodGet, "/v1/authorize")
	if w.Code != 204 || r.claims(w.Header().Get("Sluice-Pass")).Item != "hot" {
		t.Errorf("its turn: %d %s", w.Code, w.Header())
	}
	if n := r.requests("hot"); n < 8 {
		t.Errorf("traffic %d", n)
	}
	if b := r.browser().with("X-Sluice-Item", "bad item").get("/v1/authorize"); b.status != 400 || b.code != "invalid_item" {
		t.Errorf("a bad item: %d %s", b.status, b.raw)
	}
}

// B160
func TestAssetsMakeNoPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 10 })
	assets := [][]string{{"Sec-Fetch-Dest", "image"}, {"Sec-Fetch-Dest", "script"}, {"Sec-Fetch-Dest", "style"}, {"Sec-Fetch-Dest", "font"}, {"Range", "bytes=0-"}}
	ask := func(c *client, pairs []string, code int) {
		t.Helper()
		w := c.with("X-Sluice-Item", "sku-1").with(pairs...).do(http.MethodGet, "/v1/authorize?redirect=1")
		if w.Code != code || w.Header().Get("Location") != "" || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%v: %d %s", pairs, w.Code, w.Header())
		}
	}
	for _, a := range assets {
		ask(r.browser(), a, 204)
	}
	// An icon, of which an old browser says no more than its path, is no page.
	if w := r.browser().with("X-Original-Uri", "/favicon.ico").do(http.MethodGet, "/v1/authorize?redirect=1"); w.Code != 204 || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("an icon: %d %s", w.Code, w.Header())
	}
	if n := r.requests("sku-1"); n != 0 {
		t.Errorf("assets are traffic: %d", n)
	}
	r.activate("sku-1")
	r.pass(time.Second)
	for _, a := range assets {
		ask(r.browser(), a, 401)
	}
	c := r.browser()
	c.want(c.check("sku-1"), "pass/admitted")
	for _, a := range assets {
		ask(c, a, 204)
	}
	if n := r.counts("sku-1").Joined; n != 1 {
		t.Errorf("%d joined", n)
	}
	r.policy("always", mode(queue.ModeOn))
	if w := r.browser().with("X-Sluice-Item", "always", "Sec-Fetch-Dest", "image").do(http.MethodGet, "/v1/authorize"); w.Code != 401 {
		t.Errorf("an asset of an item that is always on: %d", w.Code)
	}
}

// B112: shared caches keep assets, and with them a cookie that came along.
func TestAnswersToAssetsSetNoCookie(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 10 }, func(o *Options) { o.PassCookie = true })
	r.activate("on")
	r.pass(time.Second)
	inside := r.browser()
	inside.want(inside.check("on"), "pass/admitted")
	r.pass(40 * time.Second) // the pass is due for renewal
	paths := []string{"/v1/items/%s/check", "/v1/items/%s/status", "/wait/%s?return=/x", "/v1/authorize/product/%s"}
	for _, dest := range []string{"image", "script", "style", "font", "manifest", "audio", "video", "track", ""} {
		part := func(c *client) *client { return c.with("Sec-Fetch-Dest", dest) }
		if dest == "" {
			part = func(c *client) *client { return c.with("Range", "bytes=0-99") }
		}
		media := dest == "audio" || dest == "video" || dest == "track" || dest == ""
		for _, path := range paths {
			for _, item := range []string{"on", "off"} {
				c := part(r.browser())
				if w := c.do(http.MethodGet, fmt.Sprintf(path, item)); w.Header().Get("Set-Cookie") != "" {
					t.Errorf("%q of %s, %s: %s", dest, path, item, w.Header())
				}
			}
			// A film keeps the cookie of its viewer fresh; nothing else would.
			viewer := part(r.browser())
			maps.Copy(viewer.cookies, inside.cookies)
			w := viewer.do(http.MethodGet, fmt.Sprintf(path, "on"))
			if got := w.Header().Get("Set-Cookie") != ""; got != media {
				t.Errorf("%q of %s, with a pass: %d, a cookie: %v", dest, path, w.Code, got)
			}
		}
	}
	if n := r.counts("on").Joined; n != 1 {
		t.Errorf("%d joined", n)
	}
	if n := r.requests("on") + r.requests("off"); n != 0 {
		t.Errorf("assets are traffic: %d", n)
	}
	// While the store is away a page passes, and so do its parts.
	r.store.down.Store(true)
	for _, pairs := range [][]string{{"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "image"}} {
		if w := r.browser().with(pairs...).do(http.MethodGet, "/v1/authorize/product/on"); w.Code != http.StatusNoContent {
			t.Errorf("%v while the store is away: %d", pairs, w.Code)
		}
	}
}

func TestInThePathFormTheQueryIsTheOriginals(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	r.activate("hot")
	for _, query := range []string{"user=42", "redirect=1", "return=https://evil.example/", "return=//evil.example", "user=%zz", "v=1&t=2&code=3&lang=x", "redirect=1&user=%00"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead, "PROPFIND"} {
			w := r.browser().do(method, "/v1/authorize/product/hot?"+query)
			at := httpURL(t, w.Header().Get("Location"))
			if w.Code != http.StatusUnauthorized || at.Path != "/wait/hot" || at.Query().Get("return") != "/product/hot?"+query {
				t.Errorf("%s ?%s: %d %s", method, query, w.Code, w.Header())
			}
		}
		if w := r.browser().do(http.MethodGet, "/v1/authorize/product/cold?"+query); w.Code != http.StatusNoContent {
			t.Errorf("queue off, ?%s: %d %s", query, w.Code, w.Body)
		}
	}
	// A header that the visitor sent along does not hide the path.
	for _, name := range []string{"X-Original-Uri", "X-Forwarded-Uri"} {
		if w := r.browser().with(name, "/about").do(http.MethodGet, "/v1/authorize/product/hot?user=1"); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}

// B070
func TestAuthorizeTakesAddressesAsTheyCome(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	r.activate("sku-1")
	for uri, back := range map[string]string{
		"/shop/a b?x=1": "/shop/a b?x=1", "/상품/1?q=가": "/상품/1?q=가", "/shop/%E0%A4": "/shop/%E0%A4", "/shop/a%0d%0aSet-Cookie:x=1": "/shop/a%0d%0aSet-Cookie:x=1",
		"/" + strings.Repeat("x", 7999): "/" + strings.Repeat("x", 7999), "": "", "http://evil.example/shop/1": "/shop/1", "*": "", "http://evil.example": "/",
	} {
		w := r.browser().with("X-Sluice-Item", "sku-1", "X-Original-Uri", uri).do(http.MethodGet, "/v1/authorize")
		loc := w.Header().Get("Location")
		at := httpURL(t, loc)
		if w.Code != 401 || at.Query().Get("return") != back || strings.Contains(loc, "evil") {
			t.Errorf("%.40q: %d returns to %.40q", uri, w.Code, at.Query().Get("return"))
		}
		for i := range len(loc) {
			if loc[i] <= ' ' || loc[i] >= 0x7f {
				t.Fatalf("%.40q: Location %q", uri, loc)
			}
		}
		if got := w.Header()["Set-Cookie"]; len(got) != 1 || !strings.HasPrefix(got[0], "sluice_visitor=") {
			t.Errorf("%.40q: cookies %v", uri, got)
		}
	}
}

// B010: internal/itempattern has more spellings.
func TestNoSpellingOfThePathGoesRound(t *testing.T) {
	t.Parallel()
	pages := func(pattern string) func(*Options) {
		return func(o *Options) {
			patterns, err := itempattern.ParseAll([]string{pattern})
			if err != nil {
				t.Fatal(err)
			}
			o.Patterns = patterns
		}
	}
	item := newRig(t, 1, nil)
	named := newRig(t, 1, nil, pages("/Black-Friday-Sale=bf"))
	strict := newRig(t, 1, nil, pages("case:/Black-Friday-Sale=bf"))
	item.activate("hot")
	named.activate("bf")
	strict.activate("bf")
	ask := func(r *rig, uri, header string, want int) {
		t.Helper()
		w := r.browser().with(header, uri).do(http.MethodGet, "/v1/authorize")
		if w.Code != want || want == http.StatusUnauthorized && !strings.HasPrefix(w.Header().Get("Location"), "https://queue.example/wait/") {
			t.Errorf("%s %s: %d %s", header, uri, w.Code, w.Header())
		}
	}
	for _, header := range []string{"X-Original-Uri", "X-Forwarded-Uri"} {
		for _, uri := range []string{
			"/product/hot?x=1", "/product/hot/", "//product//hot", "/a/../product/hot", "/./product/hot", "/pro%64uct/h%6ft", "/product/hot;v=1", "/PRODUCT/HOT", `/product%5Chot`,
			"/a/%2e%2e%2fproduct/hot", `/a\..\product\hot`, "/product/hot%00",
		} {
			ask(item, uri, header, http.StatusUnauthorized)
		}
		for _, uri := range []string{
			"/Black-Friday-Sale?x=1", "/Black-Friday-Sale/", "//Black-Friday-Sale", "/a/../Black-Friday-Sale", "/./Black-Friday-Sale", "/Black%2DFriday%2DSale", "/Black-Friday-Sale;v=1",
			"/a/%2e%2e%2fBlack-Friday-Sale", "/%5cBlack-Friday-Sale", "/Black-Friday-Sale%00",
		} {
			ask(named, uri, header, http.StatusUnauthorized)
			ask(strict, uri, header, http.StatusUnauthorized)
		}
		ask(named, "/black-friday-sale", header, http.StatusUnauthorized)
		ask(strict, "/black-friday-sale", header, http.StatusNoContent)
		for _, r := range []*rig{named, strict} {
			ask(r, "/Black%252DFriday%252DSale", header, http.StatusNoContent) // encoded twice it is another page
		}
	}
}
