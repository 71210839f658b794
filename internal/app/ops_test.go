package app_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
		{"GET", "/debug/build", 200, "build\tGOARCH="}, {"GET", "/debug/pprof/symbol", 200, ""}, {"GET", "/debug/pprof/cmdline", 404, "not_found"}, {"GET", "/nowhere", 404, "not_found"},
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

// What the pages of alerts say to do can be done: each command is run against a node with a queue that is on.
func TestTheRunbooksCommandsWork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: %v", err)
	}
	r := newRig(t, 1)
	r.activate("sku-1")
	pages, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	block, ran := regexp.MustCompile("(?ms)^```sh\n(.*?)^```"), 0
	at := strings.NewReplacer("https://ADMIN", "http://"+r.nodes[0].Addresses().Admin, "ITEM", "sku-1", "curl ", "curl -sS --fail-with-body ")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			ran++
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", at.Replace(m[1]))
			cmd.Env = append(os.Environ(), "TOKEN="+adminToken)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", page, err, m[1], out)
			}
		}
	}
	if ran == 0 {
		t.Error("no page has a command")
	}
}
