package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/childproc"
)

// B088: requests that differ in all that a caller may choose leave nothing behind: neither series nor memory.
func TestAFloodOfMadeUpNamesLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	full := os.Getenv("CASES") == "full"
	requests := 5_000
	if full {
		requests = 50_000
	}
	const workers, most, near = 16, 100.0, 20.0 // MB
	s := serve(t, "--trusted-proxies", "127.0.0.0/8")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	ask := func(i int) error {
		url := fmt.Sprintf("http://%s/v1/items/made-up-%d/check?user=u-%d&q=%d", s.visitor, i, i, i)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if i%2 == 1 {
			req.Method = fmt.Sprintf("M%d", 1+i%5000)
		}
		req.Host = fmt.Sprintf("host-%d.example", i)
		req.Header = http.Header{
			"User-Agent": {fmt.Sprintf("agent %d", i)}, "Accept-Language": {fmt.Sprintf("x-%d", i)},
			"X-Forwarded-For": {fmt.Sprintf("10.1.%d.%d", i/250%4, i%250)},
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	flood := func(from, to int) {
		var people sync.WaitGroup
		for worker := range workers {
			people.Go(func() {
				for i := from + worker; i < to; i += workers {
					if err := ask(i); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		people.Wait()
	}
	flood(0, 100) // connections, and what a first request makes
	before := childproc.ResidentMB(s.PID())
	if before == 0 {
		t.Skip("SKIPPED: the system does not say how much memory a process holds")
	}
	peak := before
	for from := 100; from < requests; from += 1000 {
		flood(from, min(from+1000, requests))
		peak = max(peak, childproc.ResidentMB(s.PID()))
	}
	began := time.Now()
	page := s.page(t)
	took, series, odd := time.Since(began), 0, 0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") {
			series++
		}
		if strings.Contains(line, `"M1`) || strings.Contains(line, "agent ") || strings.Contains(line, "host-") {
			odd++
		}
	}
	t.Logf("%d requests: %d series in %v; %.1f MB before, %.1f MB at most", requests, series, took, before, peak)
	if series >= 3000 || took > 500*time.Millisecond || odd > 0 {
		t.Errorf("%d series in %v, %d of them with a caller's words", series, took, odd)
	}
	if peak-before > most {
		t.Errorf("memory grew by %.1f MB, at most %.0f are borne", peak-before, most)
	}
	client.CloseIdleConnections()
	if !full {
		return // an idle process collects its garbage every two minutes
	}
	s.within(t, 10*time.Minute, "memory as before", func() bool { return childproc.ResidentMB(s.PID()) < before+near })
	t.Logf("%.1f MB after %v", childproc.ResidentMB(s.PID()), time.Since(began).Round(time.Second))
}

// page is what the node tells of its metrics.
func (s served) page(t *testing.T) string {
	t.Helper()
	resp := s.call(t, http.MethodGet, "http://"+s.ops+"/metrics", nil)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
