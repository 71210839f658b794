package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/sitetest"
	"github.com/sluicehq/sluice/pass"
)

// way is what stands between a browser and Sluice.
type way struct {
	*sitetest.Site
	url     string // what the browser knows as Sluice
	shop    string // a product page that a pass opens, on another site
	cut     atomic.Bool
	cookies bool         // let through
	wrong   atomic.Value // a string: the body that polls are answered with, in place of Sluice's; "" = none
	mu      sync.Mutex
	streams map[*http.Request]func() // that are open, and what cuts them
	deaf    bool                     // streams are cut at once
	seen    []string                 // what pages report under /seen?what=
}

func newWay(t *testing.T, cookies bool) *way {
	t.Helper()
	w := &way{cookies: cookies}
	target := &url.URL{Scheme: "http"}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if !w.cookies {
				r.Out.Header.Del("Cookie")
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if !w.cookies {
				r.Header.Del("Set-Cookie")
			}
			return nil
		},
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.cut.Load() {
			panic(http.ErrAbortHandler) // the connection ends without an answer
		}
		if body, _ := w.wrong.Load().(string); body != "" && strings.HasSuffix(r.URL.Path, "/status") {
			rw.Header().Set("Content-Type", "application/json")
			io.WriteString(rw, body)
			return
		}
		switch {
		case r.URL.Path == "/seen":
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen = append(w.seen, r.URL.Query().Get("what"))
		case strings.HasSuffix(r.URL.Path, "/events"):
			w.stream(forward, rw, r)
		default:
			forward.ServeHTTP(rw, r)
		}
	}))
	t.Cleanup(proxy.Close)
	w.url = proxy.URL
	w.Site = sitetest.New(t, proxy.URL)
	target.Host = strings.TrimPrefix(w.Sluice, "http://")

	guard, err := pass.NewMiddleware(pass.Options{
		Service: w.url, Reach: w.Sluice, Item: func(*http.Request) string { return "sku-1" },
	})
	if err != nil {
		t.Fatal(err)
	}
	shop := httptest.NewServer(guard.Handler(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		claims, _ := pass.FromContext(r.Context())
		fmt.Fprintf(rw, "<!doctype html><html lang=en><title>shop</title><link rel=icon href=data:,><p id=shop>Welcome to %s", claims.Item)
	})))
	t.Cleanup(shop.Close)
	w.shop = strings.Replace(shop.URL, "127.0.0.1", "localhost", 1) + "/product/sku-1"
	w.Call("PATCH", "/policies/*", fmt.Sprintf(`{"return_origins": [%q]}`, strings.TrimSuffix(w.shop, "/product/sku-1")))
	w.Call("PATCH", "/policies/sku-1", quick)
	w.On("sku-1", 0)
	return w
}

// quick makes pages ask at least every 5 s: half of claim_seconds.
const quick = `{"claim_seconds": 10}`

// stream hands a stream on, until cutStreams.
func (w *way) stream(forward http.Handler, rw http.ResponseWriter, r *http.Request) {
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	w.mu.Lock()
	deaf := w.deaf
	if w.streams == nil {
		w.streams = map[*http.Request]func(){}
	}
	w.streams[r] = cut
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.streams, r)
	}()
	if deaf {
		panic(http.ErrAbortHandler)
	}
	forward.ServeHTTP(rw, r.WithContext(ctx))
}

// cutStreams ends the open streams, and all later ones at once.
func (w *way) cutStreams() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = true
	for _, cut := range w.streams {
		cut()
	}
}

// open streams, and what pages have reported so far.
func (w *way) openStreams() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.streams) }
func (w *way) reported(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.seen, what)
}

// page is the address of the waiting page.
func (w *way) page() string { return w.url + "/wait/sku-1?return=" + url.QueryEscape(w.shop) }

// people lets so many stand in line; each leaves when it is called.
func (w *way) people(t *testing.T, n int) (leave []func()) {
	t.Helper()
	for range n {
		c := sitetest.Browser(nil)
		if resp, body := sitetest.Get(t, c, w.Sluice+"/v1/items/sku-1/check"); resp.StatusCode != 200 || !strings.Contains(body, `"action":"wait"`) {
			t.Fatal(body)
		}
		leave = append(leave, func() { sitetest.Do(t, c, "DELETE", w.Sluice+"/v1/items/sku-1/place", "") })
	}
	return leave
}

func (w *way) open(t *testing.T, o browsertest.Options) *browsertest.Page {
	t.Helper()
	p := browsertest.Open(t, o)
	u, _ := url.Parse(w.shop)
	p.Allow(u.Host)
	return p
}

// shown waits until the page shows a place.
func shown(p *browsertest.Page, place int) {
	p.Eventually(fmt.Sprintf(`document.querySelector("#number").innerText === "%d"`, place))
}

// B106: three hundred people and one browser: each update shows the place that the server knows, a reload
// shows no worse one, and when it is the visitor's turn the page goes to the shop by itself, with a pass.
func TestAmongThreeHundredPeopleTheShownPlaceIsTheServers(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	leave := w.people(t, 300)
	p := w.open(t, browsertest.Options{})
	p.Go(w.page())
	shown(p, 301)
	for i, left := range []int{200, 100, 10} {
		var wait sync.WaitGroup
		for _, l := range leave[left:] {
			wait.Go(l)
		}
		wait.Wait()
		leave = leave[:left]
		if i > 0 {
			p.Go(w.page()) // the first is seen by a poll
		}
		shown(p, left+1)
	}
	w.On("sku-1", 100)
	p.Eventually(`document.querySelector("#shop")?.innerText === "Welcome to sku-1"`)
	if at := p.At(); at != w.shop {
		t.Errorf("at %s, want %s", at, w.shop)
	}
}

// Without cookies the page's own address carries the visitor and the ticket.
func TestWithoutCookiesThePlaceIsKeptOverReloads(t *testing.T) {
	t.Parallel()
	w := newWay(t, false)
	w.people(t, 5)
	p := w.open(t, browsertest.Options{})
	p.Pardon("status of 404") // the first poll finds out that there are no cookies
	p.Go(w.page())
	shown(p, 6)
	for range 3 {
		p.Eventually(`location.search.includes("v=") && location.search.includes("t=")`)
		p.Go(p.At())
		shown(p, 6)
	}
	if n := w.Call("GET", "/items/sku-1", ""); !strings.Contains(n, `"waiting":6`) {
		t.Errorf("more than one place: %s", n)
	}
	w.On("sku-1", 100)
	p.Eventually(`document.querySelector("#shop")?.innerText === "Welcome to sku-1"`)
}

// Without JavaScript the page refreshes itself, and the refresh goes on to the shop.
func TestWithoutJavaScriptThePageRefreshesItself(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.people(t, 2)
	w.On("sku-1", 0.5)
	p := w.open(t, browsertest.Options{NoScript: true})
	p.Go(w.page())
	p.Source(`id="number"`)
	p.Source("Welcome to sku-1")
}

// B094: with the network cut, and with answers that are none, the page says so, goes nowhere, and has the same place
// afterwards.
func TestACutNetworkCostsNoPlaceAndLetsNobodyIn(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.cutStreams() // the page has its polls alone
	w.people(t, 5)
	p := w.open(t, browsertest.Options{})
	p.Pardon("Failed to load resource")
	p.Go(w.page())
	shown(p, 6)
	w.cut.Store(true)
	p.Eventually(`!document.querySelector("#trouble").hidden`)
	if at := p.At(); !strings.HasPrefix(at, w.url+"/wait/sku-1") {
		t.Fatalf("went to %s", at)
	}
	w.cut.Store(false)
	p.Eventually(`document.querySelector("#trouble").hidden`)
	for _, body := range []string{`{"action":"pass","reason":"admi`, `{"action":"pass"}`, "<html>log in to our network</html>"} {
		w.wrong.Store(body)
		p.Eventually(`!document.querySelector("#trouble").hidden`)
		if at := p.At(); !strings.HasPrefix(at, w.url+"/wait/sku-1") || browsertest.Evaluate[string](p, `document.querySelector("#number").innerText`) != "6" {
			t.Errorf("%s led to %s", body, at)
		}
		w.wrong.Store("")
		p.Eventually(`document.querySelector("#trouble").hidden`)
	}
	shown(p, 6)
	w.On("sku-1", 100)
	p.Eventually(`document.querySelector("#shop")?.innerText === "Welcome to sku-1"`)
}

// B086: in a frame of another site the page is not shown at all, since whoever frames it could make people click; it makes
// no place, and asks for nothing any more. Nor does a form of another site end a place.
func TestOtherSitesNeitherFrameThePageNorEndPlaces(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	evil := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/form" {
			fmt.Fprintf(rw, `<link rel=icon href=data:,><form method=post action="%s/wait/sku-1/leave"></form><script>document.forms[0].submit()</script>`, w.url)
			return
		}
		fmt.Fprintf(rw, `<link rel=icon href=data:,><iframe src="%s" onload="document.title = 'loaded'"></iframe>`, w.page())
	}))
	t.Cleanup(evil.Close)
	address := strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)
	p := w.open(t, browsertest.Options{})
	p.Allow(strings.TrimPrefix(w.url, "http://"))
	p.Pardon("frame-ancestors")
	p.Pardon("Framing")
	p.Go(address)
	p.Eventually(`document.title === "loaded"`)
	if live := w.Call("GET", "/items/sku-1", ""); !strings.Contains(live, `"waiting":0`) {
		t.Errorf("the frame made a place: %s", live)
	}
	p.Go(w.page())
	shown(p, 1)
	p.Go(address + "/form")
	p.Eventually(`location.pathname === "/wait/sku-1/left"`)
	if live := w.Call("GET", "/items/sku-1", ""); !strings.Contains(live, `"waiting":1`) {
		t.Errorf("a form of another site ended the place: %s", live)
	}
}

// Page and polls are small, and the page is one file: what a phone on a bad network must load.
func TestThePageAndItsPollsAreSmall(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.people(t, 5)
	c := sitetest.Browser(nil)
	req, err := http.NewRequest("GET", w.page(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, _ := io.Copy(io.Discard, resp.Body); resp.Header.Get("Content-Encoding") != "gzip" || n > 30<<10 {
		t.Errorf("the page has %d bytes, %q", n, resp.Header.Get("Content-Encoding"))
	}
	var app struct {
		Visitor string
		Place   struct{ Ticket string }
	}
	if _, body := sitetest.Get(t, sitetest.Browser(nil), w.page(), "Accept", "application/json"); json.Unmarshal([]byte(body), &app) != nil {
		t.Fatal(body)
	}
	for name, headers := range map[string]http.Header{
		"with cookies": {}, "without cookies": {"Sluice-Visitor": {app.Visitor}, "Sluice-Ticket": {app.Place.Ticket}},
	} {
		req, err := http.NewRequest("GET", w.url+"/v1/items/sku-1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = headers
		client := c
		if name == "without cookies" {
			client = sitetest.Browser(nil)
		}
		poll, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := httputil.DumpResponse(poll, true)
		poll.Body.Close()
		if err != nil || poll.StatusCode != 200 || !bytes.Contains(wire, []byte(`"action":"wait"`)) || len(wire) > 1024 {
			t.Errorf("a poll's answer %s has %d bytes on the wire: %s", name, len(wire), wire)
		}
	}

	p := w.open(t, browsertest.Options{})
	p.Go(w.page())
	shown(p, 8)
	first := browsertest.Evaluate[int](p, `performance.getEntriesByType("resource").filter(e => e.initiatorType !== "fetch").length`)
	if first != 0 {
		t.Errorf("the page asks for %d more files", first)
	}
}
