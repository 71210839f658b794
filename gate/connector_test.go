package gate

import (
	"bufio"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

const connectorSecret = "secret-of-the-connector"

// connected is the shop behind a connector.
func connected(o *Options) {
	o.Connector = func() (string, string) { return "shop", connectorSecret }
}

func connectorShop(p *queue.Policy) {
	shop(p)
	p.ReturnOrigins = []queue.Origin{"https://shop.example"}
}

// shopSite is a site whose connector is the real one, running in Node.
type shopSite struct {
	t       *testing.T
	r       *rig
	in      *json.Encoder
	out     *bufio.Scanner
	cookies map[string]string
	event   string
	secret  string
	skew    time.Duration // its clock less ours
}

// response is what the site answers to one request.
type response struct {
	Cookies  map[string]string
	Redirect string
	QueueID  string
	Type     string
}

func (r *rig) site(t *testing.T, event string) *shopSite {
	t.Helper()
	if _, err := os.Stat("testdata/connector/node_modules/@queue-it"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the connector is missing: deploy/install-test-deps.sh installs it")
		}
		t.Skip("SKIPPED: no connector here; deploy/install-test-deps.sh installs it")
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/connector/site.js")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	return &shopSite{t: t, r: r, in: json.NewEncoder(in), out: bufio.NewScanner(out), cookies: map[string]string{}, event: event, secret: connectorSecret}
}

// ask sends one request to the site, and keeps its cookies.
func (s *shopSite) ask(address, action string) response {
	s.t.Helper()
	err := s.in.Encode(map[string]any{
		"now": s.r.hand.Now().Add(s.skew).UnixMilli(), "url": address, "cookies": s.cookies, "action": action,
		"event": s.event, "domain": "queue.example", "customer": "shop", "secret": s.secret,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if !s.out.Scan() {
		s.t.Fatal("the site has gone")
	}
	var a response
	if err := json.Unmarshal(s.out.Bytes(), &a); err != nil {
		s.t.Fatal(err)
	}
	for name, value := range a.Cookies {
		if s.cookies[name] = value; value == "" {
			delete(s.cookies, name)
		}
	}
	return a
}

// open opens a page of the site and goes to the queue that it leads to; it gives the answer there.
func (s *shopSite) open(c *client, address string) (queueAddress string, location string) {
	s.t.Helper()
	a := s.ask(address, "")
	if a.Redirect == "" {
		s.t.Fatalf("%s opens without the queue", address)
	}
	w := c.do(http.MethodGet, a.Redirect)
	return a.Redirect, w.Header().Get("Location")
}

// The whole way round with the real connector: the queue off, a line, a turn, an extended session, and the end of it.
func TestAConnectorNeedsNoChange(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, connectorShop, connected)
	ten := 10.0
	const page = "https://shop.example/p?a=1&b=%2520#f"
	s, c := r.site(t, "sku-1"), r.browser()

	_, back := s.open(c, page)
	if a := s.ask(back, ""); a.Redirect != "" || a.Type != "safetynet" {
		t.Fatalf("queue off: %s then %+v", back, a)
	}
	s.cookies, c = map[string]string{}, r.browser() // somebody who was not inside before

	r.activate("sku-1")
	r.do("sku-1", queue.SwitchOrder{Action: queue.SetInflow, Inflow: new(float64)})
	address, back := s.open(c, page)
	if back != "" {
		t.Fatalf("in line, and sent on to %s", back)
	}
	w := c.do(http.MethodGet, address)
	again := next(t, w.Body.String())
	if !strings.Contains(again, "connector=1") || !strings.Contains(w.Body.String(), "You are next") {
		t.Fatalf("the page: %s", w.Body)
	}
	if n := r.counts("sku-1").Waiting; n != 1 {
		t.Fatalf("%d places", n)
	}
	r.do("sku-1", queue.SwitchOrder{Action: queue.SetInflow, Inflow: &ten})
	r.pass(2 * time.Second)
	back = c.do(http.MethodGet, again).Header().Get("Location")
	if !strings.HasPrefix(back, "https://shop.example/p?a=1&b=%2520&queueittoken=e_sku-1~q_") || !strings.HasSuffix(back, "#f") || strings.Contains(back, "sluice_pass") {
		t.Fatalf("back at %s", back)
	}
	first := s.ask(back, "")
	if first.Redirect != "" || first.Type != "queue" || len(first.QueueID) != 36 || len(s.cookies) != 1 {
		t.Fatalf("with the token: %+v", first)
	}
	if a := s.ask(page, ""); a.Redirect != "" || a.QueueID != first.QueueID {
		t.Fatalf("with the cookie: %+v", a)
	}
	r.hand.Add(15 * time.Minute)
	s.ask(page, "extend")
	r.hand.Add(15 * time.Minute)
	if a := s.ask(page, ""); a.Redirect != "" {
		t.Fatalf("after an extension: %+v", a)
	}

	a := s.ask("https://shop.example/after", "cancel")
	if !strings.HasPrefix(a.Redirect, "https://queue.example/connector/cancel/multiple/shop?wrl=sku-1~") || len(s.cookies) != 0 {
		t.Fatalf("cancel: %+v %v", a, s.cookies)
	}
	w = c.do(http.MethodGet, a.Redirect)
	if w.Code != http.StatusFound || w.Header().Get("Location") != "https://shop.example/after" {
		t.Fatalf("cancel: %d %s", w.Code, w.Header())
	}
	if a := s.ask(page, ""); a.Redirect == "" {
		t.Error("inside after the end of the session")
	}
}

var lineUpAgain = regexp.MustCompile(`<a class="button" href="([^"]*)">`)

// B178: what a connector refuses is told in plain words, with a way back in line, and the place is kept.
func TestWhatAConnectorRefusesIsExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(s *shopSite, back string) string
		reason string
	}{
		"tampered":                   {func(_ *shopSite, back string) string { return strings.Replace(back, "rt_queue", "rt_idle", 1) }, "was changed on the way"},
		"too old":                    {func(s *shopSite, back string) string { s.skew = 181 * time.Second; return back }, "is too old"},
		"signed with another secret": {func(s *shopSite, back string) string { s.secret = "a secret of the site's own"; return back }, "was changed on the way"},
		"of another queue":           {func(s *shopSite, back string) string { s.event = "sku-2"; return back }, "another queue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, connectorShop, connected)
			r.activate("sku-1")
			r.activate("sku-2")
			s, b := r.site(t, "sku-1"), r.browser()
			r.pass(time.Second)
			_, back := s.open(b, "https://shop.example/p")
			if back == "" {
				t.Fatal("not let in")
			}
			a := s.ask(c.spoil(s, back), "")
			w := b.do(http.MethodGet, a.Redirect)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), c.reason) || w.Header().Get("Cache-Control") != "no-store" {
				t.Fatalf("%s: %d %s", a.Redirect, w.Code, w.Body)
			}
			link := html.UnescapeString(lineUpAgain.FindStringSubmatch(w.Body.String())[1])
			s.skew, s.secret = 0, connectorSecret
			w = b.do(http.MethodGet, link)
			on := w.Header().Get("Location")
			if s.event == "sku-1" && (on == "" || s.ask(on, "").Redirect != "") {
				t.Errorf("lined up again and was sent to %q", on)
			}
			if s.event == "sku-2" && w.Code >= 400 {
				t.Errorf("lined up for the other: %d", w.Code)
			}
		})
	}
}

// B178: a token leaves room for a click and for clocks that differ.
func TestATokenHoldsForAClick(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, connectorShop, connected)
	for skew, let := range map[time.Duration]bool{
		2 * time.Minute: true, 179 * time.Second: true, 180 * time.Second: true, 30 * time.Second: true, -30 * time.Second: true, 181 * time.Second: false,
	} {
		s := r.site(t, "SKU-1")
		_, back := s.open(r.browser(), "https://shop.example/p")
		if !strings.Contains(back, "e_SKU-1~") {
			t.Errorf("the item is spelled otherwise: %s", back)
		}
		s.skew = skew
		if a := s.ask(back, ""); (a.Redirect == "") != let {
			t.Errorf("after %v: %+v", skew, a)
		}
	}
}

// A fixed session is fixed at the site too.
func TestATokenSaysHowLongAFixedSessionLasts(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) {
		connectorShop(p)
		p.SessionRenewal, p.SessionSeconds = false, 300
	}, connected)
	r.activate("sku-1")
	r.pass(time.Second)
	s := r.site(t, "sku-1")
	_, back := s.open(r.browser(), "https://shop.example/p")
	if !strings.Contains(back, "~ce_false~cv_5~rt_queue~") {
		t.Fatalf("back at %s", back)
	}
	s.ask(back, "")
	r.hand.Add(4 * time.Minute)
	if a := s.ask("https://shop.example/p", ""); a.Redirect != "" {
		t.Errorf("within the session: %+v", a)
	}
	r.hand.Add(2 * time.Minute)
	if a := s.ask("https://shop.example/p", ""); a.Redirect == "" {
		t.Error("inside after the session")
	}
}

// B178, B179: addresses of connectors are as strict as those of the waiting page, and nothing of the query is repeated.
func TestConnectorAddressesAreChecked(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, connectorShop, connected)
	evil := url.QueryEscape("https://evil.example/")
	long := "&queueittoken=" + strings.Repeat("x", 8000)
	for address, want := range map[string]int{
		"/connector/?c=shop&e=sku-1":                                                 http.StatusOK,
		"/connector/?c=shop&e=sku-1&t=" + evil:                                       http.StatusBadRequest,
		"/connector/?c=other&e=sku-1":                                                http.StatusBadRequest,
		"/connector/?c=shop&e=sku_1":                                                 http.StatusBadRequest,
		"/connector/?c=shop":                                                         http.StatusBadRequest,
		"/connector/?c=shop&e=sku-1&t=":                                              http.StatusOK,
		"/connector/?c=shop&e=sku-1&t=https%3A%2F%2Fshop.example%3A8443%2Fp":         http.StatusBadRequest,
		"/connector/?c=shop&e=sku-1&t=http%3A%2F%2Fshop.example%2Fp":                 http.StatusBadRequest,
		"/connector/error/eventid/?c=shop&e=sku-1":                                   http.StatusOK,
		"/connector/error/timestamp/?c=shop&e=sku-1":                                 http.StatusOK,
		"/connector/error/ip/?c=shop&e=sku-1":                                        http.StatusOK,
		"/connector/error/qidlimit/?c=shop&e=sku-1":                                  http.StatusOK,
		"/connector/error/nothing/?c=shop&e=sku-1":                                   http.StatusNotFound,
		"/connector/error/hash/?c=shop&e=sku-1" + long:                               http.StatusOK,
		"/connector/error/hash/?c=shop&e=sku-1&t=" + evil:                            http.StatusBadRequest,
		"/connector/error/%3Cscript%3E/?c=shop&e=sku-1":                              http.StatusNotFound,
		"/connector/cancel/shop/sku-1/?r=%2Fp":                                       http.StatusFound,
		"/connector/cancel/shop/sku-1?r=%2Fp":                                        http.StatusFound,
		"/connector/cancel/shop/sku-1/":                                              http.StatusNoContent,
		"/connector/cancel/shop/sku-1/?r=" + evil:                                    http.StatusBadRequest,
		"/connector/cancel/other/sku-1/?r=%2Fp":                                      http.StatusBadRequest,
		"/connector/cancel/multiple/shop?wrl=&r=%2Fp":                                http.StatusBadRequest,
		"/connector/cancel/multiple/shop/?wrl=sku-1~id&r=%2F":                        http.StatusFound,
		"/connector/cancel/multiple/shop?wrl=" + strings.Repeat("a_", 21) + "&r=%2F": http.StatusBadRequest,
	} {
		w := r.browser().do(http.MethodGet, address)
		if w.Code != want || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%.80s: %d, not %d", address, w.Code, want)
		}
		if strings.Contains(w.Body.String()+w.Header().Get("Location"), "evil.example") || strings.Contains(w.Body.String(), "xxx") || strings.Contains(w.Body.String(), "<script>") {
			t.Errorf("%.80s: repeats the query: %s", address, w.Body)
		}
	}
	off := newRig(t, 1, connectorShop)
	for _, address := range []string{"/connector/?c=shop&e=sku-1", "/connector/?c=&e=sku-1", "/connector/error/hash/?c=shop&e=sku-1", "/connector/cancel/shop/sku-1/"} {
		if w := off.browser().do(http.MethodGet, address); w.Code != http.StatusNotFound {
			t.Errorf("%s with no customer set: %d", address, w.Code)
		}
	}
}

// B179: a target is decoded once, and the visitor ends there exactly, with one fresh token: from the queue that is off, and
// after a wait.
func TestATargetArrivesAsTheSiteWroteIt(t *testing.T) {
	t.Parallel()
	off := newRig(t, 1, connectorShop, connected)
	on := newRig(t, 1, func(p *queue.Policy) {
		connectorShop(p)
		p.ReturnOrigins = append(p.ReturnOrigins, "https://shop.example:8443")
	}, connected)
	off.policy("*", func(p *queue.Policy) { *p = on.data.Policies["*"] })
	on.activate("sku-1")
	long := "https://shop.example/p?x=" + strings.Repeat("y", 3000)
	for target, want := range map[string]string{
		"https://shop.example/p?a=1&b=%2520&q=가#f":                "https://shop.example/p?a=1&b=%2520&q=%EA%B0%80&TOKEN#f",
		"https://shop.example/a%2Fb":                              "https://shop.example/a%2Fb?TOKEN",
		"https://shop.example/p?queueittoken=old~h_1&a=1":         "https://shop.example/p?a=1&TOKEN",
		"https://shop.example/p?a=1&queueittoken=old~h_1&b=2":     "https://shop.example/p?a=1&b=2&TOKEN",
		"https://shop.example/p?a=1&queueittoken=old~h_1#f?x=y&z": "https://shop.example/p?a=1&TOKEN#f?x=y&z",
		"https://shop.example:8443/p?":                            "https://shop.example:8443/p?TOKEN",
		long:                                                      long + "&TOKEN",
	} {
		for name, r := range map[string]*rig{"queue off": off, "let in": on} {
			r.pass(time.Second)
			w := r.browser().do(http.MethodGet, "/connector/?c=shop&e=sku-1&t="+url.QueryEscape(target))
			got := freshToken.ReplaceAllString(w.Header().Get("Location"), "TOKEN")
			if w.Code != http.StatusFound || got != want {
				t.Errorf("%s, %.60s: %d %.120s", name, target, w.Code, got)
			}
		}
	}
}

// freshToken is a token of the item sku-1, signed.
var freshToken = regexp.MustCompile(`queueittoken=e_sku-1~q_[0-9a-f-]{36}~ts_\d+~ce_true~rt_(queue|safetynet)~h_[0-9a-f]{64}`)

func TestCancellingLeavesTheLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, connectorShop, connected)
	for _, item := range []queue.Item{"a-1", "b-1"} {
		r.activate(item)
		r.do(item, queue.SwitchOrder{Action: queue.SetInflow, Inflow: new(float64)})
	}
	b, other := r.browser(), r.browser()
	for _, item := range []string{"a-1", "b-1"} {
		b.do(http.MethodGet, "/connector/?c=shop&e="+item)
	}
	other.do(http.MethodGet, "/connector/?c=shop&e=a-1")
	w := b.do(http.MethodGet, "/connector/cancel/multiple/shop?wrl=a-1_b-1&r=%2F")
	if w.Code != http.StatusFound || r.counts("a-1").Waiting != 1 || r.counts("b-1").Waiting != 0 {
		t.Errorf("%d: %d and %d wait", w.Code, r.counts("a-1").Waiting, r.counts("b-1").Waiting)
	}
	inside := r.browser()
	r.activate("c-1")
	r.pass(time.Second)
	inside.do(http.MethodGet, "/connector/?c=shop&e=c-1&t=%2Fp")
	if n := r.counts("c-1").Running; n != 1 {
		t.Fatalf("%d inside", n)
	}
	inside.do(http.MethodGet, "/connector/cancel/shop/c-1/?r=%2F")
	if n := r.counts("c-1").Running; n != 0 {
		t.Errorf("%d inside after the end of the session", n)
	}
	if a := b.status("a-1"); a.code != "no_place" {
		t.Errorf("the place is back: %s", a.raw)
	}
}
