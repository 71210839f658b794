package gate

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

func httpURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil || u.Host != "queue.example" {
		t.Fatalf("address %q: %v", s, err)
	}
	return u
}

var refresh = regexp.MustCompile(`http-equiv="refresh" content="(\d+); url=([^"]*)"`)

// next is the address to which a page without JavaScript comes back.
func next(t *testing.T, page string) string {
	t.Helper()
	m := refresh.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page does not come back: %s", page)
	}
	return html.UnescapeString(m[2])
}

func TestThePageKeepsThePlaceAndLeadsBack(t *testing.T) {
	t.Parallel()
	for name, cookies := range map[string]bool{"with cookies": true, "without cookies": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, shop)
			r.activate("sku-1")
			r.browser().check("sku-1")
			c := r.browser()
			if !cookies {
				c = r.app()
			}
			address := "/wait/sku-1?return=" + url.QueryEscape("/product/1?a=b&c=d")
			for i := range 4 {
				w := c.at(i%2).do(http.MethodGet, address)
				h := w.Header()
				if w.Code != http.StatusOK || h.Get("X-Robots-Tag") != "noindex" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" ||
					!strings.HasPrefix(h.Get("Content-Type"), "text/html") || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
					t.Fatalf("page: %d %s", w.Code, h)
				}
				if !strings.Contains(w.Body.String(), `id="number">2<`) {
					t.Fatalf("page: %s", w.Body)
				}
				address = next(t, w.Body.String())
				if i > 0 && cookies == strings.Contains(address, "&v=") {
					t.Errorf("own address %s", address)
				}
			}
			if n := r.counts("sku-1").Waiting; n != 2 {
				t.Fatalf("%d wait", n)
			}
			if n := r.requests("sku-1"); n != 1 {
				t.Errorf("the page is traffic: %d", n)
			}
			r.pass(time.Second)
			w := c.do(http.MethodGet, address)
			if w.Code != http.StatusFound || w.Header().Get("Location") != "/product/1?a=b&c=d" {
				t.Errorf("its turn: %d %s", w.Code, w.Header())
			}
			if again := c.do(http.MethodGet, address); again.Code != http.StatusFound {
				t.Errorf("once more: %d", again.Code)
			}
			if n := r.counts("sku-1"); n.Joined != 2 {
				t.Errorf("counts %+v", n)
			}
		})
	}
}

func TestTheHandOverCodeContinuesThatVisitor(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, shop)
	r.activate("sku-1")
	app := r.app()
	joined := app.want(app.check("sku-1"), "wait/queue_on")
	at := httpURL(t, joined.Place.WaitURL)
	if at.Query().Get("code") == "" {
		t.Fatalf("wait_url %s", at)
	}
	path := at.RequestURI()
	browser := r.browser()
	browser.check("elsewhere") // it knows another visitor, who stands in no line here
	w := browser.at(1).do(http.MethodGet, path)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `id="number">1<`) || r.counts("sku-1").Waiting != 1 {
		t.Fatalf("page: %d, %d wait", w.Code, r.counts("sku-1").Waiting)
	}
	if b := browser.status("sku-1"); r.visitor(b) != r.visitor(joined) || b.position() != 1 {
		t.Errorf("the browser goes on as %s", b.raw)
	}
	// A browser that has a place of its own keeps it.
	own := r.browser()
	own.check("sku-1")
	own.do(http.MethodGet, path)
	if b := own.status("sku-1"); b.position() != 2 {
		t.Errorf("its own place: %s", b.raw)
	}
	if b := own.check("sku-1"); strings.Contains(b.Place.WaitURL, "code=") {
		t.Errorf("a code for one with cookies: %s", b.Place.WaitURL)
	}
	// The code is no ticket, and is over after a minute.
	thief := r.app().with("Sluice-Ticket", at.Query().Get("code"))
	if b := thief.status("sku-1"); b.code != "no_place" {
		t.Errorf("a code in place of a ticket: %s", b.raw)
	}
	r.do("sku-1", queue.SwitchOrder{Action: queue.Pause})
	r.pass(61 * time.Second)
	late := r.browser()
	late.do(http.MethodGet, path)
	if b := late.status("sku-1"); b.position() != 3 {
		t.Errorf("after a minute: %s", b.raw)
	}
	// At another item it is nothing.
	r.activate("sku-2")
	other := r.browser()
	other.do(http.MethodGet, strings.Replace(path, "sku-1", "sku-2", 1))
	if b := other.status("sku-2"); r.visitor(b) == r.visitor(joined) {
		t.Error("the code works at another item")
	}
}

// B095, B122: the page counts down by the clock of the line, whatever that of the visitor's machine or of the node says.
func TestPagesAreToldTheTimeOfTheLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	r.activate("sku-1")
	c := r.browser()
	c.check("sku-1")
	want := r.nodes[0].Clock.Now().UTC().Format(http.TimeFormat)
	if got := c.with("Sluice-Page", "x").do(http.MethodGet, "/v1/items/sku-1/status").Header().Get("Date"); got != want {
		t.Errorf("a page is told %q, the line has %q", got, want)
	}
}

func TestThePageSaysWhatIsTheMatter(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) {
		shop(p)
		p.WaitPage.Status = 503
		p.WaitPage.Title = map[string]string{"en": "Hello <b>shop</b>"}
		p.WaitPage.Message = map[string]string{"en": "Hi", "ko": "안녕"}
		p.WaitPage.Theme = map[string]string{"accent": "#0a7"}
		p.WaitPage.LogoURL, p.WaitPage.AfterURL = "https://cdn.example/logo.png", "https://shop.example/thanks"
	})
	r.activate("on")
	r.do("shut", queue.SwitchOrder{Action: queue.Close})
	get := func(path string, pairs ...string) (int, http.Header, string) {
		w := r.browser().with(pairs...).do(http.MethodGet, path)
		return w.Code, w.Header(), w.Body.String()
	}
	code, h, body := get("/wait/on")
	if code != 503 || !strings.Contains(body, "Hello &lt;b&gt;shop&lt;/b&gt;") || !strings.Contains(body, "--accent:#00aa77;") || !strings.Contains(h.Get("Content-Security-Policy"), "img-src https://cdn.example") {
		t.Errorf("page: %d %s %s", code, h, body)
	}
	if code, _, body = get("/wait/shut"); code != 503 || !strings.Contains(body, `href="https://shop.example/thanks"`) || refresh.MatchString(body) {
		t.Errorf("closed: %d %s", code, body)
	}
	if code, _, body = get("/wait/off"); code != 200 || !strings.Contains(body, "You may go on.") {
		t.Errorf("off: %d %s", code, body)
	}
	// B148
	for accept, lang := range map[string]string{
		"": "en", "ko": "ko", "ko-KR,ko;q=0.9,en;q=0.8": "ko", "en;q=0.1, ko;q=0.2": "ko", "ko;q=abc": "en", "fr, de": "fr", "pt, de;q=0.5": "de", "ja-JP": "ja", "zh-TW": "zh", "es-MX": "es", "*": "en", "ko;q=0": "en",
		strings.Repeat("en-u-", 3000): "en", strings.Repeat("-", 15000): "en", strings.Repeat("de,", 4000) + "ko": "de", "ko;q=NaN": "ko", "KO": "ko",
		strings.Repeat("a-b-c-", 2500): "en", "zh-Hant-TW-u-co-phonebk-x-" + strings.Repeat("private-", 1800) + "end": "en", "zh-Hant-TW-u-co-phonebk-x-private": "zh", "*;q=": "en", "en;q=1.0000000001": "en", "ko\x00;q=1": "en", "\"><script>": "en",
	} {
		_, h, body := get("/wait/off", "Accept-Language", accept)
		if h.Get("Content-Language") != lang || !strings.Contains(body, `<html lang="`+lang+`">`) || !strings.Contains(h.Get("Vary"), "Accept-Language") {
			t.Errorf("Accept-Language %.30q: %s", accept, h.Get("Content-Language"))
		}
	}
	for _, asked := range []string{"ko", "KO", "ko-KR"} {
		if _, h, _ := get("/wait/on?lang="+asked, "Accept-Language", "en"); h.Get("Content-Language") != "ko" {
			t.Errorf("lang=%s: %s", asked, h.Get("Content-Language"))
		}
	}
	for _, asked := range []string{"../../x", "<script>alert(1)</script>", "pt-BR"} {
		if _, h, body := get("/wait/on?lang=" + url.QueryEscape(asked)); h.Get("Content-Language") != "en" || strings.Contains(body, "alert(1)") || strings.Contains(body, "../../x") {
			t.Errorf("lang=%s: %s", asked, h.Get("Content-Language"))
		}
	}
	c := r.browser().with("Accept", "application/json")
	if b := c.want(c.get("/wait/on?return=/x"), "wait/queue_on"); !strings.Contains(b.Place.WaitURL, "/wait/on?return=%2Fx") {
		t.Errorf("JSON: %s", b.raw)
	}
}
