package pass_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sitetest"
	"github.com/sluicehq/sluice/pass"
)

// shop is a site whose products are guarded by the middleware, with Sluice on another site.
type shop struct {
	*sitetest.Site
	url   string
	guard *pass.Middleware
	seen  atomic.Int64 // requests that reached its pages
}

func itemOf(r *http.Request) string {
	item, _ := strings.CutPrefix(r.URL.Path, "/product/")
	if item == r.URL.Path {
		return ""
	}
	return item
}

func newShop(t *testing.T, change func(*pass.Options)) *shop {
	t.Helper()
	s := &shop{Site: sitetest.New(t, "")}
	o := pass.Options{Service: s.Sluice, Item: itemOf, Timeout: time.Minute} // a busy machine is no outage
	if change != nil {
		change(&o)
	}
	guard, err := pass.NewMiddleware(o)
	if err != nil {
		t.Fatal(err)
	}
	s.guard = guard
	server := httptest.NewServer(guard.Handler(http.HandlerFunc(s.page)))
	t.Cleanup(server.Close)
	s.url = strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // another site than Sluice's
	s.Call("PATCH", "/policies/*", fmt.Sprintf(`{"return_origins": [%q]}`, s.url))
	return s
}

// page answers with what came, and says that anybody may keep it, as a careless page does.
func (s *shop) page(w http.ResponseWriter, r *http.Request) {
	s.seen.Add(1)
	if r.Header.Get("Upgrade") == "websocket" {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello")
			conn.Close()
		}
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=60")
	claims, _ := pass.FromContext(r.Context())
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, claims.Item, body)
}

// open opens a page as a browser does.
func (s *shop) open(t *testing.T, c *http.Client, address string, headers ...string) (*http.Response, string) {
	t.Helper()
	if strings.HasPrefix(address, "/") {
		address = s.url + address
	}
	return sitetest.Get(t, c, address, append([]string{"Sec-Fetch-Mode", "navigate", "Accept", "text/html"}, headers...)...)
}

// admitted is a browser that waited and came back to an address with a pass in it, which it has not opened yet.
func (s *shop) admitted(t *testing.T, path string) (c *http.Client, back string) {
	t.Helper()
	c = sitetest.Browser(nil)
	item, _, _ := strings.Cut(strings.TrimPrefix(path, "/product/"), "?")
	s.On(item, 0)
	resp, _ := s.open(t, c, path)
	wait := resp.Header.Get("Location")
	if resp.StatusCode != http.StatusFound || !strings.HasPrefix(wait, s.Sluice+"/wait/"+item+"?return=") || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("in line: %d %v", resp.StatusCode, resp.Header)
	}
	s.On(item, 100)
	sitetest.Until(t, "let in", func() bool {
		resp, _ := s.open(t, c, wait)
		back = resp.Header.Get("Location")
		return back != ""
	})
	return c, back
}

func TestWithTheQueueOffEveryRequestGoesOn(t *testing.T) {
	t.Parallel()
	s, c := newShop(t, nil), sitetest.Browser(nil)
	for _, path := range []string{"/product/sku-1?a=%2B&b=1", "/", "/about", "/product/sku-2"} {
		if resp, body := s.open(t, c, path); resp.StatusCode != 200 || !strings.HasPrefix(body, "GET "+path+" ") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if resp, body := sitetest.Do(t, c, method, s.url+"/product/sku-1", "order"); resp.StatusCode != 200 || !strings.HasSuffix(body, "order") {
			t.Errorf("%s: %d %s", method, resp.StatusCode, body)
		}
	}
	// However many ask at once, below what turns the queue on.
	before := s.seen.Load()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			one := sitetest.Browser(nil)
			for j := range 10 {
				if resp, err := one.Get(fmt.Sprintf("%s/product/sku-%d?page=%d", s.url, i%4, j)); err != nil || resp.StatusCode != 200 {
					t.Errorf("%v %v", resp, err)
				} else {
					resp.Body.Close()
				}
			}
		})
	}
	all.Wait()
	if n := s.seen.Load() - before; n != 200 {
		t.Errorf("%d of 200 requests reached the pages", n)
	}
}

// B085: to another site the pass travels in the address; one redirect takes it off.
func TestAVisitorLinesUpAndComesBackWithAPass(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	c, back := s.admitted(t, "/product/sku-1?a=%2B&a=2&next=%E1%84%80")
	if n := s.seen.Load(); n != 0 {
		t.Fatalf("%d requests reached the pages without a pass", n)
	}
	if !strings.HasPrefix(back, s.url+"/product/sku-1?a=%2B&a=2&next=%E1%84%80&sluice_pass=") {
		t.Fatalf("back at %s", back)
	}
	resp, _ := s.open(t, c, back)
	if to := resp.Header.Get("Location"); resp.StatusCode != 302 || to != "/product/sku-1?a=%2B&a=2&next=%E1%84%80" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d to %s", resp.StatusCode, to)
	}
	cookie := ""
	for _, line := range resp.Cookies() {
		if line.Name == "sluice_pass_sku-1" {
			cookie = line.Value
			if !line.HttpOnly || line.SameSite != http.SameSiteLaxMode || line.Path != "/" || line.MaxAge <= 0 || line.Domain != "" {
				t.Errorf("cookie %+v", line)
			}
		}
	}
	s.On("sku-1", 0)
	for _, method := range []string{"GET", "POST", "PUT"} {
		resp, body := sitetest.Do(t, c, method, s.url+"/product/sku-1?a=%2B", "order")
		if want := method + " /product/sku-1?a=%2B sku-1 "; resp.StatusCode != 200 || !strings.HasPrefix(body, want) {
			t.Errorf("%s with the pass: %d %s", method, resp.StatusCode, body)
		}
	}
	// A link that was passed on is of use for a minute; the pass is nobody's for another item, and one byte less is none.
	s.On("sku-2", 0)
	for name, one := range map[string]struct{ path, header, cookie string }{
		"another item":        {"/product/sku-2", cookie, "sluice_pass_sku-2=" + cookie},
		"tampered":            {"/product/sku-1", cookie[:len(cookie)-4] + "AAAA", ""},
		"cut":                 {"/product/sku-1", "", "sluice_pass_sku-1=" + cookie[:len(cookie)-1]},
		"alg none":            {"/product/sku-1", "eyJhbGciOiJub25lIn0." + strings.Split(cookie, ".")[1] + ".", ""},
		"in a foreign cookie": {"/product/sku-1", "", "sluice_pass_SKU-1=" + cookie},
	} {
		before := s.seen.Load()
		resp, _ := s.open(t, sitetest.Browser(nil), one.path, "Sluice-Pass", one.header, "Cookie", one.cookie)
		if resp.StatusCode != 302 || s.seen.Load() != before {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	// Behind it without Sluice: the pass holds.
	s.StopSluice()
	if resp, body := s.open(t, c, "/product/sku-1"); resp.StatusCode != 200 {
		t.Errorf("with a pass, Sluice away: %d %s", resp.StatusCode, body)
	}
}

// With Sluice stopped for good the middleware lets in whoever has a pass, on the keys that it has, until that pass ends; and
// nobody else.
func TestWithSluiceStoppedAPassHoldsUntilItEnds(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // of the real time
	s := newShop(t, func(o *pass.Options) { o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } })
	c, back := s.admitted(t, "/product/sku-1")
	resp, _ := s.open(t, c, back)
	if resp.StatusCode != 302 {
		t.Fatalf("with the pass in the address: %d", resp.StatusCode)
	}
	keys := pass.Verifier{Keys: s.keys(t)}
	var ends time.Time
	for _, cookie := range resp.Cookies() {
		if cookie.Name == pass.CookieName("sku-1") {
			claims, err := keys.VerifyAny(cookie.Value)
			if err != nil {
				t.Fatal(err)
			}
			ends = claims.ExpiresAt
		}
	}
	s.StopSluice()
	for _, left := range []time.Duration{4 * time.Minute, 2 * time.Minute, time.Minute, 5 * time.Second} {
		ahead.Store(int64(time.Until(ends) - left))
		for _, method := range []string{"GET", "POST"} {
			if resp, body := sitetest.Do(t, c, method, s.url+"/product/sku-1", "order"); resp.StatusCode != 200 {
				t.Errorf("%s, %v before the end: %d %s", method, left, resp.StatusCode, body)
			}
		}
		before := s.seen.Load()
		for name, other := range map[string]*http.Client{"nobody": sitetest.Browser(nil), "at another item": c} {
			path := map[string]string{"nobody": "/product/sku-1", "at another item": "/product/sku-2"}[name]
			if resp, _ := s.open(t, other, path); resp.StatusCode != 503 || s.seen.Load() != before {
				t.Errorf("%s, Sluice stopped: %d", name, resp.StatusCode)
			}
		}
	}
	ahead.Store(int64(time.Until(ends) + 6*time.Second)) // 5 s are allowed for clocks
	before := s.seen.Load()
	if resp, _ := s.open(t, c, "/product/sku-1"); resp.StatusCode != 503 || s.seen.Load() != before {
		t.Errorf("after the end: %d", resp.StatusCode)
	}
}

// keys are those that the node publishes.
func (s *shop) keys(t *testing.T) *pass.Keys {
	t.Helper()
	_, body := sitetest.Get(t, http.DefaultClient, s.Sluice+"/.well-known/jwks.json")
	keys, err := pass.ParseJWKS([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// On Sluice's own site its cookie says who the visitor is, and no address carries a pass.
func TestOnTheSameSiteTheCookieIsEnough(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	s.url = strings.Replace(s.url, "localhost", "127.0.0.1", 1)
	s.Call("PATCH", "/policies/*", fmt.Sprintf(`{"return_origins": [%q]}`, s.url))
	c, back := s.admitted(t, "/product/sku-1?a=%2B")
	if back != s.url+"/product/sku-1?a=%2B" {
		t.Fatalf("back at %s", back)
	}
	if resp, body := s.open(t, c, back); resp.StatusCode != 200 || body != "GET /product/sku-1?a=%2B sku-1 " {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	s.StopSluice()
	if resp, _ := s.open(t, c, back); resp.StatusCode != 200 {
		t.Errorf("by the cookie of its own: %d", resp.StatusCode)
	}
}

func TestScriptsAndImagesAreNotRedirected(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	s.On("sku-1", 0)
	for _, headers := range [][]string{{"Sec-Fetch-Mode", "cors"}, {"X-Requested-With", "XMLHttpRequest"}, {"Accept", "application/json"}} {
		resp, _ := sitetest.Get(t, sitetest.Browser(nil), s.url+"/product/sku-1", headers...)
		if resp.StatusCode != 401 || resp.Header.Get("Sluice-Action") != "wait" || !strings.HasPrefix(resp.Header.Get("Location"), s.Sluice+"/wait/sku-1") {
			t.Errorf("%v: %d %v", headers, resp.StatusCode, resp.Header)
		}
	}
	waiting := s.Call("GET", "/items/sku-1", "")
	for _, headers := range [][]string{{"Sec-Fetch-Dest", "image"}, {"Sec-Fetch-Dest", "style"}, {"Range", "bytes=0-9"}} {
		resp, body := sitetest.Get(t, sitetest.Browser(nil), s.url+"/product/sku-1", headers...)
		if resp.StatusCode != 401 || resp.Header.Get("Location") != "" || body != "" || resp.Header["Set-Cookie"] != nil {
			t.Errorf("%v: %d %v", headers, resp.StatusCode, resp.Header)
		}
	}
	if resp, _ := sitetest.Do(t, sitetest.Browser(nil), "HEAD", s.url+"/product/sku-1", ""); resp.StatusCode != 302 {
		t.Errorf("HEAD: %d", resp.StatusCode)
	}
	if after := s.Call("GET", "/items/sku-1", ""); count(after) != count(waiting) {
		t.Errorf("images made places: %s, then %s", waiting, after)
	}
	if resp, _ := sitetest.Do(t, sitetest.Browser(nil), "POST", s.url+"/product/sku-1", "a=1", "Sec-Fetch-Mode", "navigate"); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("a form: %d", resp.StatusCode)
	}
	if n := s.seen.Load(); n != 0 {
		t.Errorf("%d reached the pages", n)
	}
}

// count cuts the number of those in line out of an item's state.
func count(live string) string {
	_, rest, _ := strings.Cut(live, `"waiting":`)
	n, _, _ := strings.Cut(rest, ",")
	return strings.TrimSpace(n)
}

func TestOnePersonHasOnePlaceHoweverOftenThePageIsOpened(t *testing.T) {
	t.Parallel()
	s, c := newShop(t, nil), sitetest.Browser(nil)
	s.On("sku-1", 0)
	for range 5 {
		s.open(t, c, "/product/sku-1")
	}
	if n := count(s.Call("GET", "/items/sku-1", "")); n != "1" {
		t.Errorf("%s places", n)
	}
}

func TestWithSluiceAwayTheOptionDecides(t *testing.T) {
	t.Parallel()
	for open, want := range map[bool]int{true: 200, false: 503} {
		t.Run(fmt.Sprint("fail open ", open), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, func(o *pass.Options) { o.FailOpen = open })
			s.StopSluice()
			for range 3 {
				resp, _ := s.open(t, sitetest.Browser(nil), "/product/sku-1")
				if resp.StatusCode != want || want == 503 && (resp.Header.Get("Retry-After") == "" || resp.Header.Get("Cache-Control") != "no-store") {
					t.Errorf("%d %v", resp.StatusCode, resp.Header)
				}
			}
			if resp, _ := s.open(t, sitetest.Browser(nil), "/about"); resp.StatusCode != 200 {
				t.Errorf("a page without an item: %d", resp.StatusCode)
			}
			if n := s.guard.Count(pass.Unreachable); n == 0 || n > 3 {
				t.Errorf("%d calls failed", n)
			}
		})
	}
}

// What a visitor makes Sluice refuse is no outage: it opens no door, and costs nobody else theirs.
func TestARefusalIsNoOutage(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(o *pass.Options) { o.FailOpen = true })
	s.On("sku-1", 0)
	for name, headers := range map[string][]string{
		"cookies that are too long": {"Cookie", "sluice_visitor=" + strings.Repeat("x", 20<<10)},
		"a name that is too long":   {"User-Agent", strings.Repeat("x", 20<<10)},
		"a pass that is too long":   {"Sluice-Pass", strings.Repeat("x", 20<<10)},
	} {
		resp, _ := s.open(t, sitetest.Browser(nil), "/product/sku-1", headers...)
		if resp.StatusCode < 300 || resp.StatusCode >= 500 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
		if resp, _ := s.open(t, sitetest.Browser(nil), "/product/sku-1"); resp.StatusCode != 302 {
			t.Errorf("somebody else after %s: %d", name, resp.StatusCode)
		}
	}
	if n, down := s.seen.Load(), s.guard.Count(pass.Unreachable); n != 0 || down != 0 {
		t.Errorf("%d reached the pages; Sluice counts as away %d times", n, down)
	}
}

func TestAnAnswerWithACookieIsKeptByNoSharedCache(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	resp, _ := s.open(t, sitetest.Browser(nil), "/product/sku-1")
	if resp.Header["Set-Cookie"] == nil || !strings.Contains(resp.Header.Get("Cache-Control"), "no-store") {
		t.Errorf("the first answer: %v", resp.Header)
	}
	if resp, _ := s.open(t, sitetest.Browser(nil), "/about"); resp.Header.Get("Cache-Control") != "public, max-age=60" {
		t.Errorf("a page without an item: %v", resp.Header)
	}
}

func TestASocketGoesThroughTheMiddleware(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /product/sku-1 HTTP/1.1\r\nHost: shop\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("%v %v", resp, err)
	}
}

// The place to return to is made of the request, and the address without the pass as well: neither leads elsewhere.
func TestNoRequestLeadsToAnotherSite(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(o *pass.Options) {
		o.Item = func(r *http.Request) string { // a shop that finds its item however the path is spelled
			if strings.Contains(r.URL.Path, "sku-2") {
				return "sku-2"
			}
			return "sku-1"
		}
	})
	_, back := s.admitted(t, "/product/sku-1")
	_, token, _ := strings.Cut(back, "sluice_pass=")
	base, _ := url.Parse(s.url)
	for _, target := range []string{
		"//evil.example/product/sku-1", "/%5Cevil.example/product/sku-1", "/%2F/evil.example", "/product/sku-1%0d%0aSet-Cookie:x=1",
		"//evil.example/%2e%2e/product/sku-1", "/product//evil.example", "/./product/sku-1",
	} {
		conn, err := net.Dial("tcp", base.Host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s?x=1&sluice_pass=%s&y=2 HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, token, base.Host)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		to, err := base.Parse(resp.Header.Get("Location"))
		if err != nil || resp.StatusCode != 302 || to.Host != base.Host || to.RawQuery != "x=1&y=2" {
			t.Errorf("%s leads to %s", target, resp.Header.Get("Location"))
		}
		for _, c := range resp.Cookies() {
			if !strings.HasPrefix(c.Name, "sluice_") {
				t.Errorf("%s sets %s", target, c.Name)
			}
		}
	}
	resp, err := http.NewRequest("GET", s.url+"/product/sku-2", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.On("sku-2", 0)
	resp.Host = "evil.example" // a host that the policy does not name
	got, err := sitetest.Browser(nil).Do(resp)
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	if strings.Contains(got.Header.Get("Location"), "evil") {
		t.Errorf("sent to wait for %s", got.Header.Get("Location"))
	}
}

// A request's own trace goes on to Sluice, where it is asked about, and to the page.
func TestACallersTraceGoesOn(t *testing.T) {
	t.Parallel()
	const own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var asked atomic.Value
	sluice := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Traceparent"))
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(sluice.Close)
	guard, err := pass.NewMiddleware(pass.Options{Service: sluice.URL, Item: itemOf, FailOpen: true, TraceShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/product/sku-1", nil)
	r.Header.Set("Traceparent", own)
	w := httptest.NewRecorder()
	guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Traceparent")) })).ServeHTTP(w, r)
	if asked.Load() != own || w.Body.String() != own {
		t.Errorf("Sluice was asked within %v, the page within %q", asked.Load(), w.Body)
	}
}

func TestOptionsThatAreWrongAreNamed(t *testing.T) {
	t.Parallel()
	item := func(*http.Request) string { return "" }
	for want, o := range map[string]pass.Options{
		"Service": {Item: item}, "Item": {Service: "https://queue.example"},
		"Reach": {Service: "https://queue.example", Item: item, Reach: "queue:8080"},
		"Site":  {Service: "https://queue.example", Item: item, Site: "https://shop.example?x"}, "Timeout": {Service: "https://queue.example", Item: item, Timeout: -1},
		"TraceShare": {Service: "https://queue.example", Item: item, TraceShare: 1.5},
	} {
		if _, err := pass.NewMiddleware(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
