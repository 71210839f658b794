package proxies_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/sitetest"
	"github.com/sluicehq/sluice/pass"
)

// proxied is a site behind a proxy.
type proxied struct {
	*sitetest.Site
	url string // of the proxy, http://host:port
}

// proxy is a program and its configuration, a file of this folder. start runs it with that text, listening on at.
type proxy struct {
	file  string
	start func(t *testing.T, config, at string)
}

// run runs a program until the test ends, and shows what it said if the test failed.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	child, err := childproc.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Kill()
		if t.Failed() {
			t.Logf("%s: %s", cmd.Path, child.Output())
		}
	})
}

// put puts a proxy in front of a new site, whose addresses take the place of those in the file; change edits the file.
func (p proxy) put(t *testing.T, change func(config string) string) *proxied {
	t.Helper()
	at := sitetest.FreeAddr(t)
	s := &proxied{Site: sitetest.New(t, "http://"+at), url: "http://" + at}
	text, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	if change != nil {
		if config = change(config); config == string(text) {
			t.Fatal("the change changes nothing")
		}
	}
	for old, now := range map[string]string{"127.0.0.1:8080": strings.TrimPrefix(s.Sluice, "http://"), "127.0.0.1:3000": strings.TrimPrefix(s.Origin.URL, "http://")} {
		if !strings.Contains(config, old) {
			t.Fatalf("%s does not name %s", p.file, old)
		}
		config = strings.ReplaceAll(config, old, now)
	}
	p.start(t, config, at)
	sitetest.Until(t, "the proxy listens", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return s
}

// page is a request as a browser opens a page.
func (p *proxied) page(t *testing.T, c *http.Client, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	return sitetest.Get(t, c, p.url+path, append([]string{"Sec-Fetch-Mode", "navigate", "Accept", "text/html"}, headers...)...)
}

// all are the proxies that run here.
func all(t *testing.T, test func(t *testing.T, p proxy)) {
	for name, p := range map[string]proxy{"nginx": nginx, "caddy": caddy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

func TestWithTheQueueOffEveryRequestReachesTheOrigin(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, p proxy) {
		s, c := p.put(t, nil), sitetest.Browser(nil)
		for _, path := range []string{"/product/sku-1?a=%2B&b=1", "/", "/static/a.css", "/sale"} {
			if resp, body := s.page(t, c, path); resp.StatusCode != 200 || body != "GET "+path+" " {
				t.Errorf("%s: %d %s", path, resp.StatusCode, body)
			}
		}
		if _, body := sitetest.Do(t, c, "POST", s.url+"/product/sku-1", "order"); body != "POST /product/sku-1 order" {
			t.Errorf("a POST came as %s", body)
		}
	})
}

// B071, B074: one redirect to the waiting page, one visitor and one place however often the page is opened, and back to the
// first address with a pass.
func TestAVisitorLinesUpAndComesBack(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, p proxy) {
		s, c := p.put(t, nil), sitetest.Browser(nil)
		s.On("sku-1", 0)
		wait := ""
		for range 5 {
			resp, _ := s.page(t, c, "/product/sku-1?a=%2B")
			wait = resp.Header.Get("Location")
			if resp.StatusCode != 302 || wait != s.url+"/wait/sku-1?return=%2Fproduct%2Fsku-1%3Fa%3D%252B" && !strings.HasPrefix(wait, s.url+"/wait/sku-1?return=%2Fproduct%2Fsku-1%3Fa%3D%252B&code=") ||
				!strings.Contains(resp.Header.Get("Cache-Control"), "no-store") {
				t.Fatalf("in line: %d %s", resp.StatusCode, resp.Header)
			}
		}
		if _, body := s.page(t, c, strings.TrimPrefix(wait, s.url)); !strings.Contains(body, "You are next") {
			t.Errorf("the waiting page: %s", body)
		}
		// Five pages are five requests of traffic, and one place.
		sitetest.Until(t, "the pages are counted", func() bool { return strings.Contains(s.Call("GET", "/items/sku-1", ""), `"traffic":{"requests":5,`) })
		if live := s.Call("GET", "/items/sku-1", ""); !strings.Contains(live, `"waiting":1,`) || !strings.Contains(live, `"joined":1,`) {
			t.Errorf("more than one place: %s", live)
		}
		// Another spelling is no way round; neither is what a visitor says of itself.
		for _, path := range []string{"//product/sku-1", "/product/%73ku-1", "/x/../product/sku-1", "/PRODUCT/SKU-1", "/product/sku-1;v=1", "/product/sku-1/", "/static/../product/sku-1",
			"/static/%2e%2e/product/sku-1", "/static/..%2fproduct/sku-1", "/static/..;/product/sku-1", "/static/..;x=1/product/sku-1", "/static/..%5cproduct/sku-1", "/static/a/..;/..;/product/sku-1",
			"/v1/items/../../product/sku-1", "/wait/..%2fproduct/sku-1", "/sluice.js/..;/product/sku-1", "/.well-known/jwks.json/../../product/sku-1",
		} {
			if resp, _ := s.page(t, c, path); resp.StatusCode != 302 {
				t.Errorf("%s: %d", path, resp.StatusCode)
			}
		}
		for _, header := range []string{"X-Sluice-Item: other", "X-Forwarded-Uri: /", "X-Original-URI: /", "X-Forwarded-Method: OPTIONS", "X-Original-Method: OPTIONS"} {
			name, value, _ := strings.Cut(header, ": ")
			if resp, _ := s.page(t, c, "/product/sku-1", name, value); resp.StatusCode != 302 {
				t.Errorf("%s: %d", header, resp.StatusCode)
			}
		}
		// A script is told.
		for _, headers := range [][]string{{"Sec-Fetch-Mode", "cors"}, {"X-Requested-With", "XMLHttpRequest"}, {"Accept", "application/json"}} {
			resp, _ := sitetest.Get(t, c, s.url+"/product/sku-1", headers...)
			if resp.StatusCode != 401 || resp.Header.Get("Sluice-Action") != "wait" || !strings.HasPrefix(resp.Header.Get("Location"), s.url+"/wait/") {
				t.Errorf("%v: %d %s", headers, resp.StatusCode, resp.Header)
			}
		}
		if resp, _ := sitetest.Get(t, c, s.url+"/product/sku-1", "Sec-Fetch-Dest", "image", "Sec-Fetch-Mode", "no-cors"); resp.StatusCode != 401 || resp.Header.Get("Location") != "" {
			t.Errorf("an image: %d %s", resp.StatusCode, resp.Header)
		}
		if n := len(s.Origin.Seen()); n != 0 {
			t.Fatalf("the origin saw %d requests: %v", n, s.Origin.Seen()[0].URL)
		}
		if resp, _ := s.page(t, c, "/static/a.css"); resp.StatusCode != 200 {
			t.Errorf("a static file: %d", resp.StatusCode)
		}

		s.On("sku-1", 100)
		back := ""
		sitetest.Until(t, "let in", func() bool {
			resp, _ := s.page(t, c, strings.TrimPrefix(wait, s.url))
			back = resp.Header.Get("Location")
			return back != ""
		})
		if back != "/product/sku-1?a=%2B" {
			t.Fatalf("back at %s", back)
		}
		shops := "shop=1; " + strings.Repeat("x", 4<<10) + "=1"
		resp, body := s.page(t, c, back, "Cookie", shops)
		if resp.StatusCode != 200 || body != "GET "+back+" " {
			t.Fatalf("with the pass: %d %s", resp.StatusCode, body)
		}
		seen := s.Origin.Seen()
		last := seen[len(seen)-1]
		if last.Header.Get("Sluice-Pass") == "" || !strings.Contains(last.Header.Get("Cookie"), shops) {
			t.Errorf("the origin got %v", last.Header)
		}
		if _, body := sitetest.Do(t, c, "POST", s.url+"/product/sku-1", "order"); body != "POST /product/sku-1 order" {
			t.Errorf("a POST came as %s", body)
		}
		if live := s.Call("GET", "/items/sku-1", ""); !strings.Contains(live, `"waiting":0,"running":1,`) || !strings.Contains(live, `"joined":1,`) {
			t.Errorf("it is another visitor by now: %s", live)
		}
		s.refusesWhatIsNoPass(t)
		s.believesNobody(t)
		s.opensNoSocket(t)
		s.takesNoRefusalForAnOutage(t)
	})
}

// A visitor who was let in to one item shows that pass at another whose queue is on, in every way there is, and with all the
// cookies: it is no pass there, and the origin is not reached, as its own log says.
func TestAPassIsOfNoUseAtAnotherItem(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, p proxy) {
		s, c := p.put(t, nil), sitetest.Browser(nil)
		s.On("sku-1", 100)
		s.On("sku-2", 0)
		sitetest.Until(t, "let in", func() bool {
			resp, _ := s.page(t, c, "/product/sku-1")
			return resp.StatusCode == 200
		})
		s.page(t, c, "/product/sku-1") // with the cookies of the answer before
		seen := s.Origin.Seen()
		token := seen[len(seen)-1].Header.Get("Sluice-Pass")
		cookies := seen[len(seen)-1].Header.Get("Cookie")
		if token == "" || cookies == "" {
			t.Fatalf("the origin got %v", seen[len(seen)-1].Header)
		}
		for _, path := range []string{"/product/sku-2", "/product/sku-2?sluice_pass=" + token, "//product/%73ku-2", "/product/sku-2?x=/product/sku-1", "/product/sku-1/../sku-2"} {
			ways := shown(token)
			ways["all cookies"] = []string{"Cookie", cookies}
			ways["cookie of this item"] = []string{"Cookie", cookies + "; sluice_pass_sku-2=" + token}
			ways["header of the other item"] = []string{"Sluice-Pass", token, "X-Sluice-Item", "sku-1"}
			ways["header of the other address"] = []string{"Sluice-Pass", token, "X-Original-Uri", "/product/sku-1", "X-Forwarded-Uri", "/product/sku-1"}
			for way, headers := range ways {
				if resp, body := s.page(t, sitetest.Browser(nil), path, headers...); resp.StatusCode != 302 || !strings.HasPrefix(resp.Header.Get("Location"), s.url+"/wait/sku-2") {
					t.Errorf("%s, by %s: %d %s %s", path, way, resp.StatusCode, resp.Header.Get("Location"), body)
				}
			}
		}
		if resp, _ := s.page(t, c, "/product/sku-2"); resp.StatusCode != 302 {
			t.Errorf("the visitor's own browser: %d", resp.StatusCode)
		}
		if resp, _ := sitetest.Do(t, c, "POST", s.url+"/product/sku-2", "order", "Sluice-Pass", token, "Sec-Fetch-Mode", "cors"); resp.StatusCode != 401 {
			t.Errorf("a POST: %d", resp.StatusCode)
		}
		if now := s.Origin.Seen(); len(now) != len(seen) {
			t.Errorf("the origin was reached: %s", now[len(seen)].URL)
		}
		if resp, _ := s.page(t, c, "/product/sku-1"); resp.StatusCode != 200 {
			t.Errorf("at its own item, afterwards: %d", resp.StatusCode)
		}
	})
}

// B070: addresses as browsers and others send them, raw bytes and broken encodings too, lead to the waiting page of their
// item and back to the same path, in one header line of plain ASCII; nothing of it is an error of Sluice's.
func TestOddAddressesGoThroughTheProxy(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, p proxy) {
		s := p.put(t, nil)
		s.Call("PATCH", "/policies/*", `{"mode": "on", "inflow_per_second": 0}`)
		for _, path := range []string{
			"/product/a%20b?x=1", "/product/\xec\x83\x81\xed\x92\x88?q=\xea\xb0\x80", "/product/%E0%A4", "/product/a%0d%0aSet-Cookie:x=1", "/product/" + strings.Repeat("x", 2000),
			"/product/*", "/product/%00", "/product/a?b?c", "/product/%", "/product/\"><script>",
		} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop\r\nAccept: text/html\r\nSec-Fetch-Mode: navigate\r\nConnection: close\r\n\r\n", path)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			conn.Close()
			if err != nil {
				t.Fatalf("%.40q: %v", path, err)
			}
			to := resp.Header.Get("Location")
			if resp.StatusCode >= 500 || resp.StatusCode == 200 || resp.StatusCode == 302 && !strings.HasPrefix(to, s.url+"/wait/") {
				t.Errorf("%.40q: %d to %.80q", path, resp.StatusCode, to)
			}
			if strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
				t.Errorf("%.40q: Location %.80q", path, to)
			}
			for _, cookie := range resp.Cookies() {
				if !strings.HasPrefix(cookie.Name, "sluice_") {
					t.Errorf("%.40q sets %s", path, cookie.Name)
				}
			}
			if resp.StatusCode != 302 || strings.Contains(path, "\"") {
				continue // refused, or no place to lead back to
			}
			// Caddy encodes what is no ASCII; it is the same address.
			at, err := url.Parse(to)
			if err != nil || at.Query().Get("return") != path && at.Query().Get("return") != (&url.URL{Path: "/product/상품", RawQuery: "q=가"}).String() {
				t.Errorf("%.40q returns to %.60q", path, to)
			}
		}
		if seen := s.Origin.Seen(); len(seen) != 0 {
			t.Errorf("the origin was reached: %s", seen[0].URL)
		}
	})
}

// refusesWhatIsNoPass shows what looks like a pass and is none, in whatever way a visitor can show it: none of it reaches
// the origin, as its own log says.
func (p *proxied) refusesWhatIsNoPass(t *testing.T) {
	p.On("sku-7", 0)
	now := time.Now()
	good := p.Pass("sku-7", now, time.Hour)
	if resp, _ := p.page(t, sitetest.Browser(nil), "/product/sku-7", "Sluice-Pass", good); resp.StatusCode != 200 {
		t.Fatalf("a pass that is good: %d", resp.StatusCode)
	}
	for name, token := range noPasses(p.Site, p.url, now) {
		before := len(p.Origin.Seen())
		for way, headers := range shown(token) {
			if resp, _ := p.page(t, sitetest.Browser(nil), "/product/sku-7", headers...); resp.StatusCode != 302 {
				t.Errorf("a pass that is %s, by %s: %d", name, way, resp.StatusCode)
			}
		}
		if resp, _ := p.page(t, sitetest.Browser(nil), "/product/sku-7?sluice_pass="+token); resp.StatusCode != 302 {
			t.Errorf("a pass that is %s, in the address: %d", name, resp.StatusCode)
		}
		if resp, _ := sitetest.Do(t, sitetest.Browser(nil), "POST", p.url+"/product/sku-7", "order", "Sluice-Pass", token, "Sec-Fetch-Mode", "cors"); resp.StatusCode != 401 {
			t.Errorf("a pass that is %s, with a POST: %d", name, resp.StatusCode)
		}
		if seen := p.Origin.Seen(); len(seen) != before {
			t.Fatalf("a pass that is %s reached the origin: %s", name, seen[before].URL)
		}
	}
}

// noPasses are what looks like a pass for sku-7 and is none.
func noPasses(s *sitetest.Site, issuer string, now time.Time) map[string]string {
	good := s.Pass("sku-7", now, time.Hour)
	parts := strings.Split(good, ".")
	return map[string]string{
		"expired":         s.Pass("sku-7", now.Add(-time.Hour), 30*time.Minute),
		"of the future":   s.Pass("sku-7", now.Add(time.Hour), time.Hour),
		"of another item": s.Pass("sku-8", now, time.Hour),
		"tampered":        good[:len(good)-4] + "AAAA",
		"cut":             good[:len(good)-1],
		"unsigned":        "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"of other claims": parts[0] + "." + strings.Split(s.Pass("sku-7", now, 2*time.Hour), ".")[1] + "." + parts[2],
		"signed by a stranger": pass.NewKey([32]byte{9}).Sign(pass.Claims{
			Issuer: issuer, Item: "sku-7", Visitor: "v", ID: "j", IssuedAt: now, ExpiresAt: now.Add(time.Hour), Generation: 1 << 60,
		}),
	}
}

// shown are the ways to show a pass by a header, as name and value.
func shown(token string) map[string][]string {
	return map[string][]string{
		"header": {"Sluice-Pass", token}, "own cookie": {"Cookie", "sluice_pass_sku-7=" + token}, "Sluice's cookie": {"Cookie", "sluice_visitor=" + token},
		"ticket": {"Sluice-Ticket", token}, "bearer": {"Authorization", "Bearer " + token},
	}
}

// believesNobody: what the origin is told of passes comes from Sluice, whatever the visitor says.
func (p *proxied) believesNobody(t *testing.T) {
	for _, path := range []string{"/product/free", "/cart"} {
		if resp, _ := p.page(t, sitetest.Browser(nil), path, "Sluice-Pass", "made up"); resp.StatusCode != 200 {
			t.Fatalf("%s: %d", path, resp.StatusCode)
		}
		seen := p.Origin.Seen()
		if got := seen[len(seen)-1].Header.Get("Sluice-Pass"); got != "" {
			t.Errorf("%s: the origin is told of the pass %q", path, got)
		}
	}
}

// opensNoSocket: a socket needs a pass as a page does.
func (p *proxied) opensNoSocket(t *testing.T) {
	before := len(p.Origin.Seen())
	if resp, _ := p.upgrade(t, "/product/sku-7", ""); resp.StatusCode != 401 && resp.StatusCode != 302 {
		t.Errorf("a socket without a pass: %d", resp.StatusCode)
	}
	if len(p.Origin.Seen()) != before {
		t.Error("a socket without a pass reached the origin")
	}
	if resp, echoes := p.upgrade(t, "/product/sku-7", p.Pass("sku-7", time.Now(), time.Hour)); resp.StatusCode != 101 || !echoes {
		t.Errorf("a socket with a pass: %d, it echoes: %v", resp.StatusCode, echoes)
	}
}

// takesNoRefusalForAnOutage: what a visitor makes Sluice refuse opens no door, though the configuration lets everybody in
// while Sluice is away.
func (p *proxied) takesNoRefusalForAnOutage(t *testing.T) {
	before := len(p.Origin.Seen())
	long := strings.Repeat("x", 7000)
	for name, headers := range map[string][]string{
		"more headers than it takes": {"X-A", long, "X-B", long, "X-C", long},
		"more cookies than it takes": {"Cookie", "a=" + long, "X-B", long, "X-C", long},
		"no item":                    {"X-Sluice-Item", "not an item"},
		"a user of nobody":           {"Authorization", "Bearer x", "X-Original-Uri", "/?user=1"},
	} {
		resp, _ := p.page(t, sitetest.Browser(nil), "/product/sku-7", headers...)
		if resp.StatusCode < 300 || resp.StatusCode >= 500 || len(p.Origin.Seen()) != before {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	if resp, _ := p.page(t, sitetest.Browser(nil), "/product/sku-7?"+long); resp.StatusCode < 300 || resp.StatusCode >= 500 || len(p.Origin.Seen()) != before {
		t.Errorf("a long address: %d", resp.StatusCode)
	}
	// Nor does the name of a host lead a visitor elsewhere.
	resp, _ := p.page(t, sitetest.Browser(nil), "/product/sku-7", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "javascript", "Forwarded", "host=evil.example")
	if to := resp.Header.Get("Location"); !strings.HasPrefix(to, p.url+"/wait/sku-7?return=%2Fproduct%2Fsku-7") {
		t.Errorf("sent to %s", to)
	}
}

// upgrade asks for a socket, and says whether it gives back what is sent.
func (p *proxied) upgrade(t *testing.T, path, pass string) (resp *http.Response, echoes bool) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", path)
	if pass != "" {
		fmt.Fprintf(conn, "Sluice-Pass: %s\r\n", pass)
	}
	fmt.Fprint(conn, "\r\n")
	r := bufio.NewReader(conn)
	if resp, err = http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, false
	}
	fmt.Fprint(conn, "ping")
	echo := make([]byte, 4)
	_, err = io.ReadFull(r, echo)
	return resp, err == nil && string(echo) == "ping"
}

func TestASocketGoesThrough(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, p proxy) {
		if resp, echoes := p.put(t, nil).upgrade(t, "/product/sku-1", ""); resp.StatusCode != 101 || !echoes {
			t.Errorf("%d, it echoes: %v", resp.StatusCode, echoes)
		}
	})
}

func TestWithSluiceAwayTheConfigurationDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proxy  proxy
		change func(string) string
		status int
	}{
		"nginx, open":   {nginx, nil, 200},
		"nginx, closed": {nginx, nginxClosed, 503},
		"caddy, open":   {caddy, nil, 200},
		"caddy, closed": {caddy, caddyClosed, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.proxy.put(t, c.change)
			s.On("sku-1", 0)
			b := sitetest.Browser(nil)
			if resp, _ := s.page(t, b, "/product/sku-1"); resp.StatusCode != 302 {
				t.Fatalf("in line: %d", resp.StatusCode)
			}
			s.StopSluice()
			if resp, body := s.page(t, b, "/product/sku-1"); resp.StatusCode != c.status {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if resp, body := sitetest.Do(t, b, "POST", s.url+"/product/sku-1", "order"); resp.StatusCode != c.status || c.status == 200 && body != "POST /product/sku-1 order" {
				t.Errorf("a POST: %d %s", resp.StatusCode, body)
			}
		})
	}
}

func TestOverHTTP2(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proxy  proxy
		secure func(t *testing.T) func(string) string
	}{"nginx": {nginx, nginxSecure}, "caddy": {caddy, caddySecure}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.proxy.put(t, c.secure(t))
			s.url = strings.Replace(s.url, "http:", "https:", 1)
			b := sitetest.Browser(&http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"}})
			if resp, body := s.page(t, b, "/product/sku-1"); resp.ProtoMajor != 2 || body != "GET /product/sku-1 " {
				t.Fatalf("%s %s", resp.Proto, body)
			}
			s.On("sku-1", 0)
			if resp, _ := s.page(t, sitetest.Browser(b.Transport), "/product/sku-1"); resp.ProtoMajor != 2 || resp.StatusCode != 302 {
				t.Errorf("in line: %s %d", resp.Proto, resp.StatusCode)
			}
		})
	}
}
