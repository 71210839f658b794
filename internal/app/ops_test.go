package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// The operations listener answers as the others do: each answer has an id, and what went wrong is a problem.
func TestTheOperationsListener(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for _, tc := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/healthz", 200, `"ok"`}, {"HEAD", "/healthz", 200, ""}, {"GET", "/readyz", 200, `"store":"up"`}, {"GET", "/metrics", 200, "sluice_"},
		{"GET", "/debug/pprof/", 200, "goroutine"}, {"GET", "/debug/pprof/goroutine?debug=1", 200, "goroutine"},
		{"GET", "/debug/pprof/symbol", 200, ""}, {"GET", "/debug/pprof/cmdline", 404, "not_found"}, {"GET", "/nowhere", 404, "not_found"},
		{"POST", "/metrics", 405, "method_not_allowed"}, {"GET", "/v1/items/x/check", 404, "not_found"},
	} {
		req, err := http.NewRequest(tc.method, "http://"+r.nodes[0].Addresses().Ops+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-Id", "abc-1")
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body := read(resp)
		if resp.StatusCode != tc.status || !strings.Contains(body, tc.body) || resp.Header.Get("X-Request-Id") != "abc-1" {
			t.Errorf("%s %s: %d %v %.200s", tc.method, tc.path, resp.StatusCode, resp.Header, body)
		}
		if problem := resp.Header.Get("Content-Type") == "application/problem+json"; problem != (tc.status >= 400) {
			t.Errorf("%s %s: %v", tc.method, tc.path, resp.Header)
		}
	}
}
