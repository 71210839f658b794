package gate

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// hostile are query values of `return`, as they stand in an address, that must lead nowhere.
var hostile = []string{
	// B076
	"//evil.example", "///evil.example", "/%09/evil.example", "/%0a/evil.example", "/%0b/evil.example", "/%0d/evil.example",
	"%20//evil.example", "/./%5Cevil.example", "https:evil.example", "https:/evil.example", "//evil%E3%80%82example",
	"javascript:alert(1)", "JaVaScRiPt%0a:alert(1)", "data:text/html,x", "vbscript:x", "blob:x", "file:///x",
	"/.//evil.example", "/..//evil.example", "/./..//evil.example", "%00/evil.example", "/%00//evil.example", "evil.example", "?x", "%23x", "mailto:a@evil.example",
	// B077
	"/%5Cevil.example", "%5C%5Cevil.example", "/%5C/evil.example", "https://shop.example%5C@evil.example", "/%5C%5Cevil.example",
	// an allowed name in a wrong place
	"https://shop.example@evil.example", "https://shop.example%40evil.example", "https://shop.example.evil.example", "https://evil.example/https://shop.example",
	"https://evil.example?https://shop.example", "https://evil.example%23.shop.example", "https://shop.example:8443/x", "http://shop.example/x",
	"https://shop.example:@evil.example", "https://shop.example:80:80", "https:///evil.example", "https://", "ftp://shop.example/x", "https://sh%C3%B6p.example",
	"https://[::1]x", "%zz", "//shop.example/x", "HTTPS:shop.example",
}

func shop(p *queue.Policy) {
	p.ReturnOrigins = []queue.Origin{"https://shop.example", "http://shop.example:3000"}
	p.InflowPerSecond = 10
}

// B076, B077
func TestHostileReturnAddressesAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, shop)
	r.activate("on")
	for _, raw := range hostile {
		for _, path := range []string{"/wait/off", "/wait/on", "/v1/items/off/check", "/v1/items/on/check", "/v1/items/on/status", "/v1/items/on/events"} {
			w := r.browser().do(http.MethodGet, path+"?return="+raw)
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"return_not_allowed"`) {
				t.Errorf("%s?return=%s: %d %s", path, raw, w.Code, w.Body)
			}
			if w.Header().Get("Location") != "" || strings.Contains(w.Body.String(), "evil") || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s?return=%s leads there: %s %s", path, raw, w.Header(), w.Body)
			}
		}
		// What a proxy hands on as the original address never becomes a link to another host.
		original, err := url.QueryUnescape(raw)
		if err != nil || strings.ContainsAny(original, "\n\r\x00") {
			continue
		}
		c := r.browser().with("X-Sluice-Item", "on", "X-Original-Uri", original)
		w := c.do(http.MethodGet, "/v1/authorize?redirect=1")
		at, err := url.Parse(w.Header().Get("Location"))
		if err != nil || at.Host != "queue.example" || w.Code != http.StatusFound {
			t.Fatalf("authorize of %q: %d %q", original, w.Code, w.Header().Get("Location"))
		}
		if back := at.Query().Get("return"); back != "" {
			if _, err := parseReturn(back, "", nil); err != nil {
				t.Errorf("authorize of %q returns to %q", original, back)
			}
		}
	}
}

func TestReturnAddressesThatAreAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, shop)
	for _, tc := range []struct{ raw, want string }{
		{"/", "/"},
		{"/product/1?x=1%262#top", "/product/1?x=1&2#top"},
		{"/a//b", "/a//b"},
		{"/%255Cevil.example", "/%5Cevil.example"}, // B077: a plain path, not decoded a second time
		{"/%EC%83%81%ED%92%88/1", "/%EC%83%81%ED%92%88/1"},
		{"/a%20b", "/a%20b"},
		{"/a%22%3E%3Cb", "/a%22%3E%3Cb"},
		{"https://shop.example", "https://shop.example"},
		{"https://SHOP.example:443/x", "https://SHOP.example:443/x"},
		{"http://shop.example:3000/x?y", "http://shop.example:3000/x?y"},
		{"https://queue.example/x", "https://queue.example/x"},
	} {
		w := r.browser().do(http.MethodGet, "/wait/sku-1?return="+strings.ReplaceAll(tc.raw, "#", "%23"))
		if w.Code != http.StatusFound || w.Header().Get("Location") != tc.want {
			t.Errorf("return=%s: %d %q, want %q", tc.raw, w.Code, w.Header().Get("Location"), tc.want)
		}
	}
	if _, err := parseReturn("/"+strings.Repeat("x", maxReturn), "", nil); err == nil {
		t.Error("a return without end is allowed")
	}
}

// B079: an address whose query holds another one is as good as any, and arrives byte for byte. Letters beyond ASCII come
// percent-encoded, as a header must have them.
func TestReturnAddressesArriveByteForByte(t *testing.T) {
	t.Parallel()
	off, r := newRig(t, 1, shop), newRig(t, 1, shop)
	r.activate("sku-1")
	r.pass(time.Second)
	for _, raw := range []string{
		"/cb?next=https%3A%2F%2Fother.example%2Fx&error_description=http://a//b", "/a//b", "/search?q=//", "/p#//x",
		"/한글/상품?이름=값", "/p?a=1&a=2&b=%2B+", "/p?&&=&a", "/p?q=a%20b+c", "/p;v=1?x#y?z",
	} {
		for name, r := range map[string]*rig{"queue off": off, "let in": r} {
			r.pass(time.Second)
			w := r.browser().do(http.MethodGet, "/wait/sku-1?return="+url.QueryEscape(raw))
			got := w.Header().Get("Location")
			if strings.Contains(raw, "한") {
				got, _ = url.PathUnescape(got)
			}
			if w.Code != http.StatusFound || got != raw {
				t.Errorf("%s, return=%s: %d %q", name, raw, w.Code, got)
			}
		}
	}
}

func TestAPassIsAppendedForAnotherSiteOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, shop)
	r.activate("sku-1")
	r.pass(3e9)
	for _, tc := range []struct{ raw, want string }{
		{"/x", `^/x$`},
		{"https://queue.example/x", `^https://queue.example/x$`},
		{"https://shop.example/x", `^https://shop.example/x\?sluice_pass=[\w.-]+$`},
		{"https://shop.example/x?a=1%26sluice_pass=old%26b=2%23top", `^https://shop.example/x\?a=1&b=2&sluice_pass=[\w.-]+#top$`},
	} {
		w := r.browser().do(http.MethodGet, "/wait/sku-1?return="+tc.raw)
		if got := w.Header().Get("Location"); w.Code != http.StatusFound || !regexp.MustCompile(tc.want).MatchString(got) {
			t.Errorf("return=%s: %d %q", tc.raw, w.Code, got)
		}
	}
	// A pass that is too old for the origin to take is made anew.
	c := r.browser()
	c.want(c.check("sku-1"), "pass/admitted")
	for range 2 {
		w := c.do(http.MethodGet, "/wait/sku-1?return=https://shop.example/")
		_, token, _ := strings.Cut(w.Header().Get("Location"), "sluice_pass=")
		claims := r.claims(token)
		if age := r.hand.Now().Sub(claims.IssuedAt); age > 31e9 {
			t.Errorf("the pass handed out is %v old", age)
		}
		r.pass(29e9)
		r.pass(12e9)
	}
}

func FuzzReturn(f *testing.F) {
	for _, raw := range hostile {
		if s, err := url.QueryUnescape(raw); err == nil {
			f.Add(s)
		}
	}
	f.Add("/product/1?x=1#top")
	f.Add("https://shop.example/x")
	f.Add("https://shop.eXAmple")
	origins := []queue.Origin{"https://shop.example"}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parseReturn(raw, "https://queue.example", origins)
		if err != nil || got == "" {
			return
		}
		// What a browser makes of it, resolved as in a Location: one of the three hosts, whatever its parser tolerates.
		browser := strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(strings.TrimLeft(location(got), "\x00\x01\x02\x03 "))
		base, _ := url.Parse("https://queue.example/wait/x")
		u, err := base.Parse(browser)
		if err != nil {
			u, err = url.Parse(browser)
		}
		if err == nil {
			host := strings.ToLower(u.Hostname()) // names of hosts have no case
			if u.Scheme != "https" || host != "queue.example" && host != "shop.example" || u.User != nil {
				t.Errorf("%q leads to %v", raw, u)
			}
		}
		if strings.HasPrefix(browser, "//") {
			t.Errorf("%q is //host", raw)
		}
		for i := range len(location(got)) {
			if c := location(got)[i]; c <= ' ' || c >= 0x7f {
				t.Errorf("%q gives a header with %q", raw, c)
			}
		}
	})
}

func FuzzItem(f *testing.F) {
	for _, s := range []string{"sku-1", "x%2Fstatus", "sku%3A1", "%2e%2e", "a+b", "%00", "%25", "é", strings.Repeat("a", 129)} {
		f.Add(s)
	}
	r := newRig(f, 1, nil)
	f.Fuzz(func(t *testing.T, segment string) {
		if _, err := url.ParseRequestURI("/v1/items/" + segment + "/check"); err != nil || strings.ContainsAny(segment, "\r\n \x7f") {
			return
		}
		for i := range len(segment) {
			if segment[i] < ' ' {
				return
			}
		}
		r.t = t
		w := r.app().do(http.MethodGet, "/v1/items/"+segment+"/check")
		decoded, err := url.PathUnescape(segment)
		switch {
		case w.Code == http.StatusOK:
			b := parse(t, w)
			if _, bad := queue.ParseItem(b.Item); bad != nil || err == nil && b.Item != strings.SplitN(decoded, "?", 2)[0] && !strings.ContainsAny(segment, "/?#") {
				t.Errorf("%q became item %q", segment, b.Item)
			}
		case w.Code == http.StatusBadRequest, w.Code == http.StatusNotFound, w.Code == http.StatusMethodNotAllowed, w.Code == http.StatusForbidden:
		default:
			t.Errorf("%q: %d %s", segment, w.Code, w.Body)
		}
	})
}
