package app_test

import (
	"math"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"sync"
	"testing"
	"time"
)

// B083: twenty who share the tokens of one are one session, which operators can see, and which any of them ends.
func TestSharedTokensAreOneSession(t *testing.T) {
	t.Parallel()
	rounds := 3
	if full {
		rounds = 60 // twice the session
	}
	r := newRig(t, 3)
	r.policy("sku-1", map[string]any{"mode": "on", "max_active_users": 1, "inflow_per_second": 10, "session_seconds": 30})
	until(1100 * time.Millisecond)
	a := r.visitor()
	r.eventually(3*time.Second, "A is in", func() bool { return a.check(0, "sku-1").Action == "pass" })
	other := r.visitor()
	other.check(1, "sku-1")
	traffic := r.traffic("sku-1")
	for range rounds {
		together(20, func(k int) {
			same := *a
			if got, err := same.call(k%3, "GET", "/v1/items/sku-1/check"); err != nil || got.Reason != "pass_valid" && got.Reason != "admitted" {
				t.Errorf("copy %d: %s/%s, %v", k, got.Action, got.Reason, err)
			}
		})
		if n, _ := r.books("sku-1"); n["running"] != 1 || n["waiting"] != 1 {
			t.Fatalf("books %v", n)
		}
		if full {
			a.check(0, "sku-1") // keeps the newest pass
			other.status(1, "sku-1")
			until(time.Second)
		}
	}
	if !full {
		r.eventually(3*time.Second, "all are traffic", func() bool { return r.traffic("sku-1") >= traffic+float64(20*rounds) })
	}
	r.eventually(3*time.Second, "an operator sees how many requests the session makes", func() bool {
		n, _ := r.must("GET", "/items/sku-1/visitors/"+string(a.id()), nil)["requests"].(float64)
		return n >= float64(20*rounds)
	})
	same := *a
	if got := same.must(2, "POST", "/v1/items/sku-1/finish"); got.Status != http.StatusNoContent {
		t.Fatalf("finish: %d", got.Status)
	}
	r.eventually(2*time.Second, "the next one is in", func() bool { return other.status(1, "sku-1").Action == "pass" })
	r.eventually(2*time.Second, "no copy passes any more", func() bool {
		for i := range r.nodes {
			same := *a
			if same.check(i, "sku-1").Action == "pass" {
				return false
			}
		}
		return true
	})
}

var ticketOf = regexp.MustCompile(`"ticket":"([^"]+)"`)

// B157: a browser without cookies whose page and sub-requests come all at once has one place that it keeps; places that
// sub-requests made behind it are gone after the abandon time, and nobody stands before who came earlier.
func TestTheFirstRequestsOfABrowserRace(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("waits for the abandon time, half a minute at least. Run by: make cases")
	}
	const browsers = 1000
	r := newRig(t, 2)
	r.policy("sku-1", map[string]any{"inflow_per_second": 0, "abandon_seconds": 30})
	r.activate("sku-1")
	jars := make([]*http.Client, browsers)
	get := func(c *http.Client, i int, path string, header ...string) string {
		req, err := http.NewRequest("GET", "http://"+r.nodes[i].Addresses().Visitor+path, nil)
		if err != nil {
			t.Error(err)
			return ""
		}
		for h := 0; h+1 < len(header); h += 2 {
			req.Header.Set(header[h], header[h+1])
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Error(err)
			return ""
		}
		return read(resp)
	}
	var tickets sync.Map
	for b := range browsers {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		jars[b] = &http.Client{Transport: r.client.Transport, Jar: jar, CheckRedirect: r.client.CheckRedirect}
		// The page comes, and with it what shows the cookie only once it has arrived: four requests without one.
		together(5, func(k int) {
			bare := &http.Client{Transport: r.client.Transport, CheckRedirect: r.client.CheckRedirect}
			switch k {
			case 0:
				page := get(jars[b], b%2, "/wait/sku-1", "Accept", "text/html")
				if m := ticketOf.FindStringSubmatch(page); m != nil {
					tickets.Store(b, m[1])
				}
			case 1:
				get(bare, b%2, "/v1/items/sku-1/check")
			case 2:
				get(bare, b%2, "/v1/items/sku-1/status")
			default:
				get(bare, (b+k)%2, "/v1/authorize", "X-Sluice-Item", "sku-1", "X-Original-Uri", "/image.png")
			}
		})
		at, _ := url.Parse("http://" + r.nodes[b%2].Addresses().Visitor)
		if _, has := tickets.Load(b); !has || len(jar.Cookies(at)) == 0 {
			t.Fatalf("the page of browser %d gives no ticket or no cookie", b)
		}
	}
	last, polled := math.Inf(1), 0
	for range 50 { // each polls every ten seconds
		for b, jar := range jars {
			if b%10 == polled%10 {
				get(jar, b%2, "/v1/items/sku-1/status")
			}
		}
		polled++
		n, _ := r.books("sku-1")
		if n["waiting"] > last {
			t.Errorf("%v wait, before %v", n["waiting"], last)
		}
		last = n["waiting"]
		until(time.Second)
	}
	if n, live := r.books("sku-1"); n["waiting"] != browsers || !balanced(live) {
		t.Errorf("%v wait after the abandon time, want one place for each of %d browsers", n["waiting"], browsers)
	}
}
