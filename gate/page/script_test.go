package page_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
)

// The script of product pages, on pages of another site: it leads who must wait to the waiting page and takes the pass that
// comes back; where it cannot ask, the page stays as it is.
func TestTheScriptOnPagesOfAnotherSite(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	shop := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!doctype html><title>shop</title><link rel=icon href=data:,><h1>A product</h1><script src="%s/sluice.js" data-item="%s"></script>`,
			r.URL.Query().Get("from"), strings.TrimLeft(r.URL.Path, "/"))
	}))
	t.Cleanup(shop.Close)
	other := strings.Replace(shop.URL, "127.0.0.1", "localhost", 1)
	for _, item := range []string{"sku-1", "sku-2", "sold-out"} {
		w.Call("PATCH", "/policies/"+item, fmt.Sprintf(`{"return_origins": [%q], "allowed_origins": [%q], "claim_seconds": 10}`, other, other))
	}
	w.Call("POST", "/items/sold-out/close", "")
	product := func(item string) string { return other + "/" + item + "?from=" + w.url }
	open := func(t *testing.T, before string) *browsertest.Page {
		p := browsertest.Open(t, browsertest.Options{})
		p.Allow(strings.TrimPrefix(w.url, "http://"))
		p.Allow(strings.TrimPrefix(other, "http://"))
		if before != "" {
			p.Before(before)
		}
		return p
	}
	action := func(p *browsertest.Page, item string) string {
		return browsertest.Evaluate[string](p, fmt.Sprintf(`sluice.check(%q).then(a => a.action + "/" + a.reason, e => String(e))`, item))
	}

	t.Run("queue off: the page stays", func(t *testing.T) {
		p := open(t, "")
		p.Go(product("sku-2"))
		if got := action(p, "sku-2"); got != "pass/queue_off" || p.At() != product("sku-2") {
			t.Errorf("%s at %s", got, p.At())
		}
	})
	t.Run("a path that reads like another host: the pass leaves the address all the same", func(t *testing.T) {
		p := open(t, "")
		said := base64.RawURLEncoding.EncodeToString([]byte(`{"aud": "sku-2"}`))
		p.Go(other + "//sku-2?from=" + w.url + "&sluice_pass=e30." + said + ".e30")
		p.Eventually(`location.pathname === "//sku-2" && !location.search.includes("sluice_pass")`)
		if got := action(p, "sku-2"); got != "pass/queue_off" {
			t.Error(got)
		}
	})
	t.Run("closed: the waiting page says so", func(t *testing.T) {
		p := open(t, "")
		p.Go(product("sold-out"))
		p.Eventually(`location.pathname === "/wait/sold-out" && document.body.innerText.includes("This is over")`)
	})
	t.Run("out of reach: the page stays", func(t *testing.T) {
		p := open(t, "")
		p.Pardon("Failed to load resource")
		p.Pardon("CORS")
		gone := "http://localhost:1"
		p.Allow("localhost:1")
		p.Go(other + "/sku-1?from=" + gone)
		p.Has("A product")
		p.Go(shop.URL + "/sku-1?from=" + w.url) // an origin that the policy does not name
		if got := action(p, "sku-1"); !strings.HasPrefix(got, "TypeError") || !strings.HasPrefix(p.At(), shop.URL) {
			t.Errorf("%s at %s", got, p.At())
		}
		w.cut.Store(true)
		defer w.cut.Store(false)
		if got := browsertest.Evaluate[bool](p, `sluice.enter("sku-1").then(a => a === null)`); !got || !strings.HasPrefix(p.At(), shop.URL) {
			t.Errorf("at %s", p.At())
		}
	})
	var waiting []*browsertest.Page
	for _, before := range []string{"", `Object.defineProperty(window, "localStorage", {get() { throw new Error("blocked"); }})`} {
		p := open(t, before)
		p.Go(product("sku-1"))
		p.Eventually(`location.pathname === "/wait/sku-1" && document.querySelector("#number")?.innerText > 0`)
		waiting = append(waiting, p)
	}
	w.On("sku-1", 100)
	for i, p := range waiting {
		p.Eventually(fmt.Sprintf(`location.href === %q && window.sluice`, product("sku-1"))) // sluice_pass is gone from the address
		if got := action(p, "sku-1"); got != "pass/pass_valid" && got != "pass/admitted" {
			t.Errorf("browser %d, back with the pass: %s", i, got)
		}
	}
	p := waiting[0]
	p.Go(product("sku-1"))
	if got := action(p, "sku-1"); !strings.HasPrefix(got, "pass/") || p.At() != product("sku-1") {
		t.Errorf("once more: %s at %s", got, p.At())
	}
	if !browsertest.Evaluate[bool](p, `sluice.finish("sku-1")`) {
		t.Error("not finished")
	}
}
