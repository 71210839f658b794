package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/redistest"
)

// settingsAgree waits until all nodes run one version of the settings, the newest, and tell so.
func (r *rig) settingsAgree(most time.Duration) {
	r.t.Helper()
	r.eventually(most, "all nodes run the newest settings", func() bool {
		newest, _ := r.must("GET", "/policies", nil)["version"].(float64)
		for i := range r.nodes {
			if r.metrics(i)["sluice_settings_version"] != newest {
				return false
			}
		}
		return true
	})
}

// B176: a node that was cut off while settings were changed has them when it is back, without another change; so has every
// node after the store was wiped; and of a thousand changes in a row all nodes have the last.
func TestANodeThatWasCutOffHasTheNewestSettings(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	door := redistest.NewDoor(t, r.redis.Addr())
	r.via = door.Addr()
	r.start(2, nil)
	r.must("PATCH", "/policies/sku-1", map[string]any{"inflow_per_second": 50})
	r.everywhere(time.Second, "sku-1", "queue_off")
	r.settingsAgree(time.Second)

	door.Lead("127.0.0.1:1")
	door.Cut()
	r.eventually(3*time.Second, "node 2 is cut off", func() bool { return r.storeIs(2, "down") })
	r.must("PATCH", "/policies/sku-1", map[string]any{"inflow_per_second": 1, "mode": "on"})
	r.eventually(2*time.Second, "it is on at the others", func() bool {
		return r.visitor().check(0, "sku-1").Action == "wait" && r.visitor().check(1, "sku-1").Action == "wait"
	})
	if a := r.visitor().check(2, "sku-1"); a.Reason != "queue_off" {
		t.Errorf("cut off: %s/%s", a.Action, a.Reason)
	}
	door.Lead(r.redis.Addr())
	r.eventually(3*time.Second, "node 2 is back", func() bool { return r.storeIs(2, "up") })
	r.everywhere(time.Second, "sku-1", "queue_on")
	r.settingsAgree(time.Second)

	if err := r.redis.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r.everywhere(2*time.Second, "sku-1", "queue_on")
	r.settingsAgree(2 * time.Second)
	if set := r.must("GET", "/items/sku-1", nil)["inflow"].(map[string]any)["set_per_second"]; set != 1.0 {
		t.Errorf("the inflow after the wipe: %v", set)
	}

	together(10, func(k int) {
		for n := range 100 {
			status, out := r.admin("PATCH", fmt.Sprintf("/policies/many-%d", k), map[string]any{"max_waiting": n + 1})
			if status >= 300 {
				t.Errorf("%d %v", status, out)
			}
		}
	})
	r.settingsAgree(time.Second)
	for k := range 10 {
		if p := r.must("GET", fmt.Sprintf("/policies/many-%d", k), nil); p["max_waiting"] != 100.0 {
			t.Errorf("the last change is not there: %v", p["max_waiting"])
		}
	}
}

// Receivers that are slow, down, answer 500, redirect, or lead inside reach no visitor: checks are answered while they hang,
// and each webhook tells what came of it.
func TestReceiversThatFailReachNoVisitor(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	hang := make(chan struct{})
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	answers := func(f http.HandlerFunc) string {
		server := httptest.NewServer(f)
		t.Cleanup(server.Close)
		return server.URL
	}
	t.Cleanup(inside.Close)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	wants := map[string]string{
		down.URL: "the connection was refused",
		answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }):                                    "answered 500",
		answers(func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, inside.URL, http.StatusFound) }): "answered 302: redirects are not followed",
		answers(func(_ http.ResponseWriter, req *http.Request) { <-hang }):                                              "",
		answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }):                   "",
	}
	t.Cleanup(func() { close(hang) }) // before the servers close
	ids := map[string]string{}
	for url := range wants {
		ids[url] = fmt.Sprint(r.must("POST", "/webhooks", map[string]any{"url": url})["id"])
	}
	if status, out := r.admin("POST", "/webhooks", map[string]any{"url": "http://10.0.0.1/"}); status != 400 || out["code"] != "webhook_target" {
		t.Errorf("a private address: %d %v", status, out)
	}
	for i := range 20 {
		r.must("POST", fmt.Sprintf("/items/sku-%d/activate", i), nil)
		for range 10 {
			if a := r.visitor().check(0, fmt.Sprintf("sku-%d", i)); a.Status != 200 {
				t.Fatalf("a check: %d %s", a.Status, a.Code)
			}
		}
	}
	for url, want := range wants {
		if want == "" {
			continue
		}
		r.eventually(10*time.Second, url+" tells "+want, func() bool {
			all, _ := r.must("GET", "/webhooks/"+ids[url]+"/deliveries", nil)["deliveries"].([]any)
			for _, d := range all {
				if d.(map[string]any)["error"] == want && d.(map[string]any)["state"] == "pending" {
					return true
				}
			}
			return false
		})
	}
}
