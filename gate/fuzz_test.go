package gate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

// sendable reports whether s can be the value of a header.
func sendable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// FuzzCookie: whatever a browser sends as cookies, it is answered as one that sends none, or as the visitor that the service
// itself has made, and nothing of it comes back.
func FuzzCookie(f *testing.F) {
	r := newRig(f, 1, func(p *queue.Policy) { p.Mode = queue.ModeOff })
	for _, s := range []string{
		"sluice_visitor=x", "sluice_visitor=", "sluice_visitor=\"a\"; sluice_visitor=b", "; ;=;", "sluice_pass_sku-1=e30.e30.", "a=b; sluice_visitor=" + strings.Repeat("A", 4000),
		"$Version=1; sluice_visitor=%00", "SLUICE_VISITOR=x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cookies string) {
		if !sendable(cookies) {
			return
		}
		r.t = t
		c := r.browser().with("Cookie", cookies)
		w := c.do(http.MethodGet, "/v1/items/sku-1/check")
		if len(cookies) > 8<<10 {
			return // the bound of headers may answer
		}
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"queue_off"`) {
			t.Errorf("%q: %d %s", cookies, w.Code, w.Body)
		}
	})
}

// FuzzConnector: whatever stands in the query of a connector's address, it leads nowhere but to sites that are allowed.
func FuzzConnector(f *testing.F) {
	r := newRig(f, 1, connectorShop, connected)
	for _, s := range []string{
		"c=shop&e=sku-1&t=https%3A%2F%2Fshop.example%2Fp", "c=shop&e=sku-1&t=//evil.example", "c=other&e=sku-1&t=/", "c=shop&e=../x&t=/",
		"c=shop&c=evil&e=sku-1&e=sku-2&t=/&t=https://evil.example", "c=shop&e=sku-1&t=javascript:alert(1)&cid=../../x&l=x&ver=v3&man=a", "%zz", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		target := "/connector/?" + query
		if _, err := url.ParseRequestURI(target); err != nil || strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return
		}
		r.t = t
		w := r.browser().do(http.MethodGet, target)
		if w.Code >= 500 {
			t.Fatalf("%q: %d %s", query, w.Code, w.Body)
		}
		to := w.Header().Get("Location")
		if to == "" {
			return
		}
		base, _ := url.Parse("https://queue.example/")
		u, err := base.Parse(to)
		if err != nil || u.Scheme != "https" || u.User != nil || !strings.EqualFold(u.Hostname(), "queue.example") && !strings.EqualFold(u.Hostname(), "shop.example") {
			t.Errorf("%q leads to %q", query, to)
		}
	})
}

// FuzzLanguage: whatever languages are wished for, the page is one of those there are.
func FuzzLanguage(f *testing.F) {
	r := newRig(f, 1, nil)
	for _, s := range []string{"ko", "en;q=0.5, de", "*;q=", "zh-Hant-TW-u-co-phonebk", strings.Repeat("de,", 1000), "<script>"} {
		f.Add(s, "")
		f.Add("", s)
	}
	f.Fuzz(func(t *testing.T, accept, lang string) {
		if !sendable(accept) || len(accept)+len(lang) > 4<<10 {
			return
		}
		r.t = t
		w := r.browser().with("Accept-Language", accept).do(http.MethodGet, "/wait/sku-1?lang="+url.QueryEscape(lang))
		if w.Code >= 500 {
			t.Fatalf("%q, %q: %d %s", accept, lang, w.Code, w.Body)
		}
		if got := w.Header().Get("Content-Language"); got != "" && !strings.Contains(" ko en ja zh es de fr zh-Hant zh-Hans ", " "+got+" ") {
			t.Errorf("%q, %q: %q", accept, lang, got)
		}
	})
}
