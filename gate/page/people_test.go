package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/sitetest"
)

// B094: with the network cut for a moment or for minutes, and with answers that are none, the page says so, goes nowhere, and
// has its place afterwards.
func TestACutNetworkCostsNoPlaceAndLetsNobodyIn(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.cutStreams() // the page has its polls alone
	w.people(t, 5)
	var portalAsked atomic.Int64
	portal := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		portalAsked.Add(1)
		rw.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		rw.Header().Set("Access-Control-Allow-Credentials", "true")
		rw.Header().Set("Access-Control-Allow-Headers", "Sluice-Page")
		says(200, "application/json", madeUp)(rw, r)
	}))
	t.Cleanup(portal.Close)
	p := w.open(t, browsertest.Options{})
	for _, text := range []string{"Failed to load resource", "Content Security Policy", "Fetch API cannot load"} {
		p.Pardon(text)
	}
	p.Allow(strings.TrimPrefix(portal.URL, "http://")) // the redirect is seen, and not followed
	p.Go(w.page())
	shown(p, 6)
	cuts := []time.Duration{3 * time.Second}
	if full {
		cuts = append(cuts, 30*time.Second, 5*time.Minute)
	}
	for _, long := range cuts {
		w.cutFor(t, p, long)
		// The others never ask: in the longest cut they leave the line.
		p.Eventually(`+document.querySelector("#number").innerText <= 6`)
	}
	place := browsertest.Evaluate[string](p, `document.querySelector("#number").innerText`)
	answers := map[string]http.HandlerFunc{
		"500": says(500, "application/problem+json", `{"code":"internal"}`), "502 of a proxy": says(502, "text/html", "<html>Bad gateway</html>"), "nothing": says(200, "application/json", ""),
		"an empty object": says(200, "application/json", "{}"), "half an answer": says(200, "application/json", `{"action":"pass","reason":"admi`),
		"an answer of no item": says(200, "application/json", `{"action":"pass"}`), "a login": says(200, "text/html", "<html>log in to our network</html>"),
		"404 of a proxy": says(404, "text/html", "<html>Not found</html>"), "a portal elsewhere": func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, portal.URL, http.StatusFound) },
	}
	if full {
		answers["none in time"] = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	}
	looked := false
	for name, answer := range answers {
		w.answer(answer)
		reconnected(p)
		p.Eventually(`!document.querySelector("#trouble").hidden`)
		if !looked {
			p.Accessible()
			looked = true
		}
		if !w.waits(p) || browsertest.Evaluate[string](p, `document.querySelector("#number").innerText`) != place {
			t.Errorf("%s led to %s", name, p.At())
		}
		w.answer(nil)
		reconnected(p)
		p.Eventually(`document.querySelector("#trouble").hidden`)
	}
	// One that somebody made up for this very item leads to the page's own address, where the place is.
	pages := len(w.requests("page"))
	w.answer(says(200, "application/json", madeUp))
	reconnected(p)
	sitetest.Until(t, "the page asks for itself", func() bool { return len(w.requests("page")) > pages })
	w.answer(nil)
	p.Eventually(`document.querySelector("#number")?.innerText === "` + place + `"`)
	if !w.waits(p) || w.opened.Load()+portalAsked.Load() != 0 {
		t.Errorf("a pass that was made up led to %s; the shop was opened %d times, the portal asked %d times", p.At(), w.opened.Load(), portalAsked.Load())
	}
	w.On("sku-1", 100)
	inside(p)
}

// reconnected tells the page that the network is back, as browsers do: it asks at once.
func reconnected(p *browsertest.Page) {
	browsertest.Evaluate[bool](p, `dispatchEvent(new Event("online"))`)
}

// madeUp is an answer with a pass that Sluice did not give.
const madeUp = `{"item":"sku-1","action":"pass","reason":"admitted","visitor":"x","queue":{"state":"open","generation":1,"waiting":0},"place":null,` +
	`"pass":{"token":"e30.e30.e30","expires_at":"2030-01-01T00:00:00.000Z"},"retry_after_ms":null}`

// B085: from a link on a third site to the shop, to the waiting page, which is on another site than the shop, and back: one
// place, and no circle of redirects. Browsers send the cookie, since it is Lax, and need no other of third parties.
func TestFromALinkToTheShopAndBack(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.people(t, 3)
	mail := httptest.NewServer(says(200, "text/html", fmt.Sprintf(`<!doctype html><title>mail</title><link rel=icon href=data:,><a id=offer href="%s?utm=mail">Our offer</a>`, w.shop)))
	t.Cleanup(mail.Close)
	p := w.open(t, browsertest.Options{})
	p.Allow(strings.TrimPrefix(w.url, "http://"))
	for range 2 {
		p.Go(strings.Replace(mail.URL, "127.0.0.1", "mail.localhost", 1))
		p.Click("#offer")
		p.Eventually(`document.querySelector("#number")?.innerText === "4"`)
	}
	if !w.waits(p) || w.opened.Load() != 2 || strings.Contains(w.live(), `"waiting":5`) {
		t.Errorf("at %s, the shop was opened %d times: %s", p.At(), w.opened.Load(), w.live())
	}
	w.On("sku-1", 100)
	inside(p)
	if at := p.At(); at != w.shop+"?utm=mail" || w.opened.Load() > 2+2 {
		t.Errorf("at %s, the shop was opened %d times", at, w.opened.Load())
	}
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
	<-time.After(map[bool]time.Duration{true: time.Minute, false: 3 * time.Second}[full])
	if pages, polls := len(w.requests("page")), len(w.requests("poll")); pages != 1 || polls != 0 || !strings.Contains(w.live(), `"waiting":0,`) {
		t.Errorf("the frame asked for %d pages and polled %d times: %s", pages, polls, w.live())
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
	req, err := http.NewRequest("GET", strings.Replace(w.page(), w.url, w.Sluice, 1), nil)
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
