package page_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
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
	cookies bool // let through
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
		forward.ServeHTTP(rw, r)
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
	w.On("sku-1", 0)
	return w
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

// B106: three hundred people and one browser, in two tabs: each update shows the place that the server knows, a reload
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
	shown(p, 6)
	w.On("sku-1", 100)
	p.Eventually(`document.querySelector("#shop")?.innerText === "Welcome to sku-1"`)
}

// B086: in a frame of another site the page is not shown at all: whoever frames it could make people click.
func TestThePageIsShownInNoFrame(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	resp, _ := sitetest.Get(t, sitetest.Browser(nil), w.page())
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("policy %q", csp)
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
	poll, err := c.Get(w.url + "/v1/items/sku-1/status")
	if err != nil {
		t.Fatal(err)
	}
	defer poll.Body.Close()
	wire, err := httputil.DumpResponse(poll, true)
	if err != nil || poll.StatusCode != 200 || len(wire) > 1024 {
		t.Errorf("a poll's answer has %d bytes on the wire: %s", len(wire), wire)
	}

	p := w.open(t, browsertest.Options{})
	p.Go(w.page())
	shown(p, 7)
	first := browsertest.Evaluate[int](p, `performance.getEntriesByType("resource").filter(e => e.initiatorType !== "fetch").length`)
	if first != 0 {
		t.Errorf("the page asks for %d more files", first)
	}
}
