package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
)

// B172: what outsiders type is text wherever operators see it, and on the waiting page: it adds no element, and nothing of
// it runs.
func TestWhatOutsidersTypeIsText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const evil = `"><img src=x onerror=owned()></script><script>owned()</script>{{7*7}}`
	const backward = evil + "\u202e"
	secret := r.api(http.MethodPost, "/tokens", map[string]any{"name": evil, "role": "service"})["token"]
	r.policy("typed", map[string]any{"inflow_per_second": 0, "wait_page": map[string]any{"title": map[string]string{"en": evil}, "message": map[string]string{"en": backward}}})
	r.api(http.MethodPut, "/sales/typed", map[string]any{
		"name": evil, "item": "typed-*", "time_zone": "UTC", "opens_at": time.Now().Add(26 * time.Hour).UTC().Format(time.RFC3339),
		"overrides": map[string]any{"wait_page": map[string]any{"title": map[string]string{"ko": evil}}},
	})
	hook := r.api(http.MethodPost, "/webhooks", map[string]any{"url": `https://8.8.8.8/?q="><svg/onload=owned()>`, "types": []string{"sale.missed"}, "note": evil})
	r.act("typed", "activate", map[string]any{"reason": evil})
	r.act("a@b:c~d", "activate", nil)
	user := url.QueryEscape(evil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.visitor+"/v1/items/typed/check?user="+user, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", fmt.Sprint("Bearer ", secret))
	req.Header.Set("User-Agent", evil)
	req.Header.Set("Referer", evil)
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if body := readAll(t, resp); resp.StatusCode != http.StatusOK {
		t.Fatalf("a check: %d %s", resp.StatusCode, body)
	}
	resp.Body.Close()

	p := r.open(adminToken, browsertest.Options{})
	p.Pardon("404")
	p.Pardon("400")
	harmless := func(at string) {
		t.Helper()
		const added = `[...document.querySelectorAll("script, [onerror], [onload], img[src=x]")].filter(e => e.tagName !== "SCRIPT" || e.textContent.startsWith("owned")).length`
		if n := browsertest.Evaluate[int](p, added); n > 0 {
			t.Errorf("%s has %d elements that were typed", at, n)
		}
	}
	for path, shows := range map[string]bool{
		"/": false, "/?q=" + user: false, "/items/typed": false, "/items/a@b:c~d": false, "/items/typed/visitor?by=user&q=" + user: false, "/policies": false,
		"/policy?pattern=typed": false, "/policy?pattern=" + user: false, "/sales?q=" + user: true, "/sales/calendar": true, "/sale?id=typed": true, "/sale/delete?id=typed": true,
		"/history?item=typed": false, "/history?item=" + user: false, "/audit?subject=typed": true, "/audit?who=" + user: false, "/webhooks": true,
		fmt.Sprintf("/webhooks/%s", hook["id"]): true, "/people": true, "/integrate?item=" + user: false, "/login?error=" + user: false,
	} {
		p.Go(r.console + path)
		harmless(path)
		if there := browsertest.Evaluate[bool](p, fmt.Sprintf("document.body.textContent.includes(%q)", evil)); shows && !there {
			t.Errorf("%s does not show what was typed", path)
		}
	}
	p = browsertest.Open(t, browsertest.Options{})
	p.Go(r.visitor + "/wait/typed")
	p.Has(evil)
	harmless("the waiting page")
	if a, err := r.ask(context.Background(), "/v1/items/a@b:c~d/check", answer{}); err != nil || a.Action == "" {
		t.Errorf("a check of an odd item: %+v, %v", a, err)
	}
}
