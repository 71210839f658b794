package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
)

func TestAViewerSeesNoControlAndIsRefused(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.act("viewed", "activate", nil)
	r.join("viewed", 3)
	planned := r.sale("access", time.Hour, nil)
	p := r.signedIn("vic", "viewer")
	p.Pardon("403")
	for _, path := range []string{"/", "/items/viewed", "/policies", "/policy?pattern=*", "/switch", "/integrate", "/history", "/audit", "/sales", "/sales/calendar", "/sale?id=" + planned} {
		p.Go(r.console + path)
		// What is left: the reader's own look, searches, and the way out.
		got := browsertest.Evaluate[[]string](p, `[...document.querySelectorAll("main form[method=post], main .controls, main a[hx-get]")].map(e => e.outerHTML.slice(0, 200))`)
		if len(got) > 0 {
			t.Errorf("%s shows controls: %q", path, got)
		}
	}
	for path, body := range map[string]string{
		"/items/viewed/do/pause": "confirm=viewed", "/items/viewed/inflow": "to=1", "/items/viewed/visitor": "visitor=abcdefghijklmnop",
		"/switch": "to=pass&confirm=pass", "/policy?pattern=shoe": "base={}", "/policy/delete?pattern=shoe": "", "/people/users": "name=eve&role=admin",
		"/sale": "base={}&name=eve&item=viewed", "/sale?id=" + planned: "base={}", "/sale/plan": "base={}", "/sale/delete?id=" + planned: "",
		"/people/tokens": "name=eve&role=admin", "/webhooks": "url=https://hooks.example",
	} {
		status := browsertest.Evaluate[int](p, fmt.Sprintf(
			`fetch(%q, {method: "POST", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: %q}).then(r => r.status)`, "/admin"+path, body))
		if status != http.StatusForbidden {
			t.Errorf("a forged POST %s answers %d; want 403", path, status)
		}
	}
	if kept := r.api(http.MethodGet, "/sales/"+planned, nil); kept["phase"] != "planned" {
		t.Errorf("the sale is %v", kept)
	}
	if state := r.api(http.MethodGet, "/items/viewed", nil)["state"]; state != "open" {
		t.Errorf("the queue is %v", state)
	}
}

// Pages work without JavaScript: they stand still, and do all the same.
func TestPagesWorkWithoutScript(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.act("still", "activate", nil)
	req := func(method, path, body string) (int, string) {
		q, err := http.NewRequestWithContext(t.Context(), method, r.console+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+adminToken)
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, readAll(t, resp)
	}
	if status, page := req("GET", "/items/still/do/pause", ""); status != 200 || !strings.Contains(page, `<form class="form" method="post" action="/admin/items/still/do/pause">`) {
		t.Errorf("the question answers %d: %s", status, page)
	}
	if status, page := req("POST", "/items/still/do/pause", "confirm=still"); status != 200 || !strings.Contains(page, "The queue is paused.") {
		t.Errorf("the action answers %d: %s", status, page)
	}
}

// What a page may load and do is said with each answer, also of errors: nothing from elsewhere, nothing written into the
// page itself, and no other site may frame it.
func TestEveryAnswerHasAStrictPolicy(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	for _, path := range append(paths(), "/login", "/policy/page?pattern=*&state=waiting") {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.console+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+adminToken)
		resp, err := r.client.Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		page := readAll(t, resp)
		resp.Body.Close()
		policy := resp.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors '"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %s: %q", path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if !strings.Contains(path, "/policy/page") && (strings.Contains(page, "<style") || strings.Contains(page, " style=") || strings.Contains(page, " onclick=") || strings.Contains(page, "hx-on")) {
			t.Errorf("%s has code or styles of its own", path)
		}
		if resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, resp.Header)
		}
	}
}
