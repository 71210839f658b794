package gate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/queue"
)

// still lets nobody in.
func still(p *queue.Policy) { p.InflowPerSecond = 0 }

// jar is the browser's cookie of ours.
func (c *client) jar() string { return c.cookies[visitorCookie] }

// B169: what other applications put into the header, however odd, hides no cookie of ours, and comes back in no answer.
func TestForeignCookiesHideNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	r.activate("sku-1")
	b := r.browser()
	first := b.want(b.check("sku-1"), "wait/queue_on")
	own := visitorCookie + "=" + b.jar()
	many := ""
	for i := range 200 {
		many += fmt.Sprintf("c%d=v%d; ", i, i)
	}
	pad := func(to int, s string) string { return s + "; pad=" + strings.Repeat("x", to-len(s)-6) }
	for name, header := range map[string]string{
		"quoted list":       `a="x,y"; ` + own,
		"json":              `b={"k":1}; ` + own + `; z={"k":[1;2]}`,
		"bytes":             "c=한글; " + own,
		"unterminated":      own + `; d="unterminated`,
		"unterminated, 1st": `d="unterminated; ` + own,
		"empty parts":       ";;; ;" + own + ";;",
		"no name":           "=x; e=; " + own,
		"many":              many + own,
		"stale before":      visitorCookie + "=stale; " + own,
		"stale behind":      own + "; " + visitorCookie + "=stale",
		"other case":        "Sluice_Visitor=x; SLUICE_VISITOR=y; " + own,
		"15 KiB":            pad(15<<10, own),
	} {
		w := r.app().with("Cookie", header).do(http.MethodGet, "/v1/items/sku-1/status")
		if got := parse(t, w); got.verdict() != "wait/queue_on" || got.position() != first.position() {
			t.Errorf("%s: %d %s", name, got.status, got.raw)
		}
		if sent := fmt.Sprint(w.Header(), w.Body); strings.Contains(sent, "pad") || strings.Contains(sent, "stale") || strings.Contains(sent, "unterminated") {
			t.Errorf("%s comes back: %s", name, sent)
		}
	}
	if w := r.app().with("Cookie", pad(problem.MaxHeaders+1024, own)).do(http.MethodGet, "/v1/items/sku-1/status"); w.Code != http.StatusRequestHeaderFieldsTooLarge || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("17 KiB: %d %s %s", w.Code, w.Header(), w.Body)
	}
}

// B170: a domain that is set while people wait costs nobody the place; of a cookie of the host and one of the domain the
// later one counts in whatever order they come, and the one of the host goes.
func TestACookieDomainThatIsSetLaterCostsNobodyThePlace(t *testing.T) {
	t.Parallel()
	domains := []string{"", "shop.example"} // of the nodes before and after
	r := newRig(t, 2, still, func(o *Options) {
		o.PublicURL, o.CookieDomain, domains = "https://queue.shop.example", domains[0], domains[1:]
	})
	r.activate("sku-1")
	r.activate("sku-2")
	b := r.browser()
	b.want(b.check("sku-1"), "wait/queue_on")
	old := b.jar()
	r.pass(time.Second)
	b.want(b.at(1).check("sku-2"), "wait/queue_on") // sets the cookie of the domain, with both places
	both := b.jar()
	if both == old {
		t.Fatal("the cookie did not change")
	}
	for name, header := range map[string]string{
		"host first":   visitorCookie + "=" + old + "; " + visitorCookie + "=" + both,
		"domain first": visitorCookie + "=" + both + "; " + visitorCookie + "=" + old,
	} {
		for _, item := range []string{"sku-1", "sku-2"} {
			w := r.app().at(1).with("Cookie", header).do(http.MethodGet, "/v1/items/"+item+"/status")
			if got := parse(t, w); got.verdict() != "wait/queue_on" || got.position() != 1 {
				t.Errorf("%s, %s: %s", name, item, got.raw)
			}
			if line := w.Header()["Set-Cookie"]; len(line) == 0 || line[0] != visitorCookie+"=; Max-Age=0; Path=/" {
				t.Errorf("%s: the cookie of the host stays: %v", name, line)
			}
		}
	}
}

// B073: a day in two hundred lines leaves a cookie that every origin takes, one that reads 8 KiB of headers too, and costs
// nobody the place that was taken last.
func TestTheCookieStaysSmallHoweverManyLinesOneStoodIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	b := r.browser()
	origin := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	origin.Config.MaxHeaderBytes = 8<<10 - 4<<10 // to which net/http adds 4 KiB
	origin.Start()
	t.Cleanup(origin.Close)
	for i := range 200 {
		item := fmt.Sprintf("item-%d-%s", i, strings.Repeat("x", 100))
		if i%2 == 0 {
			r.activate(queue.Item(item))
		}
		b.check(item)
		r.pass(time.Second)
		size := 0
		for name, value := range b.cookies {
			if strings.HasPrefix(name, "sluice") {
				size += len(name) + 1 + len(value) + 2
			}
		}
		if size > 4096 {
			t.Fatalf("%d bytes of cookies after %d items", size, i+1)
		}
	}
	b.want(b.status("item-198-"+strings.Repeat("x", 100)), "pass/admitted") // its turn came meanwhile
	for cookie, want := range map[string]int{visitorCookie + "=" + b.jar(): http.StatusOK, "a=" + strings.Repeat("x", 13<<10): http.StatusRequestHeaderFieldsTooLarge} {
		req, err := http.NewRequest(http.MethodGet, origin.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Cookie", cookie)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("an origin that reads 8 KiB of headers, %d bytes of cookies: %d", len(cookie), resp.StatusCode)
		}
	}
}

// B161: who changes networks in the line, and inside, is the same person.
func TestAPlaceAndAPassHoldAtWhateverAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, still)
	r.activate("sku-1")
	b := r.browser()
	b.want(b.check("sku-1"), "wait/queue_on")
	moved := false
	for i := range 80 {
		b.remote = []string{"203.0.113.%d:1", "198.51.100.%d:2", "[2001:db8::%d]:3", "[2001:db8:%d::1]:4"}[i%4]
		b.remote = fmt.Sprintf(b.remote, i+1)
		got := b.status("sku-1")
		if moved = moved || got.Action == "pass"; moved {
			if got = b.check("sku-1"); got.Action != "pass" {
				t.Fatalf("inside, from %s: %s", b.remote, got.raw)
			}
		} else if got.position() != 1 {
			t.Fatalf("in line, from %s: %d %s", b.remote, got.status, got.raw)
		}
		if i == 60 {
			r.policy("*", func(p *queue.Policy) { p.InflowPerSecond = 10 })
			r.pass(2 * time.Second)
		}
	}
	if !moved {
		t.Error("never let in")
	}
}
