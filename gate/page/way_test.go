package page_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/sitetest"
	"github.com/sluicehq/sluice/pass"
)

// full is whether cases run in full length.
var full = os.Getenv("CASES") == "full"

// way is what stands between a browser and Sluice.
type way struct {
	*sitetest.Site
	url     string // what the browser knows as Sluice
	shop    string // a product page that a pass opens, on another site
	cut     atomic.Bool
	cookies bool                         // let through
	wrong   atomic.Pointer[http.Handler] // answers polls in Sluice's place; nil = Sluice does
	opened  atomic.Int64                 // how often the shop was asked for its page

	mu      sync.Mutex
	streams map[*http.Request]func() // that are open, and what cuts them
	deaf    bool                     // streams are cut at once
	seen    []string                 // what pages report under /seen?what=
	asked   []asking                 // polls and pages that were asked for, those of a cut network too
	told    []int64                  // places that Sluice's answers named, one after the other
}

// asking is one request of a browser: "page" or "poll", and when asking again was told to make sense, 0 = it was not.
type asking struct {
	what  string
	at    time.Time
	after time.Duration
	jar   string // the cookies that came along
}

func newWay(t *testing.T, cookies bool) *way {
	t.Helper()
	w := &way{cookies: cookies}
	target := &url.URL{Scheme: "http"}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding") // to read the answers
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
		w.ask(r)
		if w.cut.Load() {
			panic(http.ErrAbortHandler) // the connection ends without an answer
		}
		if wrong := w.wrong.Load(); wrong != nil && strings.HasSuffix(r.URL.Path, "/status") {
			(*wrong).ServeHTTP(rw, r)
			return
		}
		switch {
		case r.URL.Path == "/seen":
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen = append(w.seen, r.URL.Query().Get("what"))
		case strings.HasSuffix(r.URL.Path, "/events"):
			w.stream(forward, &listening{ResponseWriter: rw, w: w}, r)
		default:
			forward.ServeHTTP(&listening{ResponseWriter: rw, w: w}, r)
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
	guarded := guard.Handler(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		claims, _ := pass.FromContext(r.Context())
		fmt.Fprintf(rw, "<!doctype html><html lang=en><title>shop</title><link rel=icon href=data:,><p id=shop>Welcome to %s", claims.Item)
	}))
	shop := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.opened.Add(1)
		guarded.ServeHTTP(rw, r)
	}))
	t.Cleanup(shop.Close)
	w.shop = strings.Replace(shop.URL, "127.0.0.1", "localhost", 1) + "/product/sku-1"
	w.Call("PATCH", "/policies/*", fmt.Sprintf(`{"return_origins": [%q]}`, strings.TrimSuffix(w.shop, "/product/sku-1")))
	w.Call("PATCH", "/policies/sku-1", quick)
	w.On("sku-1", 0)
	return w
}

// quick makes pages ask at least every 5 s: half of claim_seconds.
const quick = `{"claim_seconds": 10}`

// ask notes a request of a poll or of the page.
func (w *way) ask(r *http.Request) {
	a := asking{at: time.Now(), jar: r.Header.Get("Cookie")}
	switch {
	case strings.HasSuffix(r.URL.Path, "/status"):
		a.what = "poll"
	case strings.HasPrefix(r.URL.Path, "/wait/"):
		a.what = "page"
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, a)
}

// listening notes what an answer says on its way to the browser.
type listening struct {
	http.ResponseWriter
	w    *way
	rest []byte // not looked at yet: what is written may end within a number
}

var toldOf = regexp.MustCompile(`"(position|after_ms|poll_after_ms)":(\d+)[^\d]`)

func (l *listening) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	end := 0
	for _, m := range toldOf.FindAllSubmatchIndex(l.rest, -1) {
		name, value := string(l.rest[m[2]:m[3]]), string(l.rest[m[4]:m[5]])
		n, _ := strconv.ParseInt(value, 10, 64)
		switch {
		case name != "position":
			l.w.asked[len(l.w.asked)-1].after = time.Duration(n) * time.Millisecond
		case n > 0:
			l.w.told = append(l.w.told, n)
		}
		end = m[1]
	}
	l.rest = l.rest[max(end, len(l.rest)-64):]
	return l.ResponseWriter.Write(b)
}

// Unwrap lets streams flush.
func (l *listening) Unwrap() http.ResponseWriter { return l.ResponseWriter }

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

// disconnect cuts the network, streams too, until the test connects it again.
func (w *way) disconnect() {
	w.cut.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
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

// reports gives what pages have reported under a name.
func (w *way) reports(name string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range w.seen {
		if rest, ok := strings.CutPrefix(what, name+" "); ok {
			list = append(list, rest)
		}
	}
	return list
}

// requests gives the polls or the pages that were asked for so far.
func (w *way) requests(what string) (list []asking) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.asked {
		if a.what == what {
			list = append(list, a)
		}
	}
	return list
}

// answer answers polls in Sluice's place, nil = Sluice does.
func (w *way) answer(h http.HandlerFunc) {
	if h == nil {
		w.wrong.Store(nil)
		return
	}
	handler := http.Handler(h)
	w.wrong.Store(&handler)
}

// says is an answer of a status, a type and a body.
func says(status int, kind, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", kind)
		rw.WriteHeader(status)
		io.WriteString(rw, body)
	}
}

// page is the address of the waiting page.
func (w *way) page() string { return w.leadingTo(w.shop) }

func (w *way) leadingTo(address string) string {
	return w.url + "/wait/sku-1?return=" + url.QueryEscape(address)
}

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

// live is what operators see of the item.
func (w *way) live() string { return w.Call("GET", "/items/sku-1", "") }

// shown waits until the page shows a place.
func shown(p *browsertest.Page, place int) {
	p.Eventually(fmt.Sprintf(`document.querySelector("#number").innerText === "%d"`, place))
}

// inside waits until the page is the shop's.
func inside(p *browsertest.Page) {
	p.Eventually(`document.querySelector("#shop")?.innerText === "Welcome to sku-1"`)
}

// waits reports whether the page is the waiting page.
func (w *way) waits(p *browsertest.Page) bool {
	return strings.HasPrefix(p.At(), w.url+"/wait/sku-1")
}
