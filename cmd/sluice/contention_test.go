package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
)

// B149: writers in this process and in others share one SQLite file: nobody is told that it is locked, what was accepted is
// there with its audit, and visitors are answered meanwhile.
func TestWritersOfOneFileWaitForEachOther(t *testing.T) {
	t.Parallel()
	lasts := 3 * time.Second
	if os.Getenv("CASES") == "full" {
		lasts = 30 * time.Second
	}
	const token, writers = "a-token-of-a-test-of-contention-12345", 32
	dir := t.TempDir()
	s := serve(t, "--data-dir", dir, "--bootstrap-admin-token", token)
	until := time.Now().Add(lasts)

	var mu sync.Mutex
	accepted := map[string]int{}
	var took []time.Duration
	done := func(action string, d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		accepted[action]++
		took = append(took, d)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := 0; time.Now().Before(until); n++ {
				action, method, path, body := "policy.patch", "PATCH", fmt.Sprintf("/policies/p%d", w), fmt.Sprintf(`{"trigger_requests":%d}`, n+1)
				switch n % 4 {
				case 1:
					action, method, path, body = "item.activate", "POST", fmt.Sprintf("/items/i%d/activate", w), "{}"
				case 2:
					action, method, path, body = "sale.add", "POST", "/sales", fmt.Sprintf(`{"name":"s","item":"s%d-%d","opens_at":"2040-12-01T11:00:00Z"}`, w, n)
				case 3:
					action, method, path, body = "item.deactivate", "POST", fmt.Sprintf("/items/i%d/deactivate", w), "{}"
				}
				begun := time.Now()
				status, answer := s.write(method, path, body, token)
				if status/100 != 2 {
					t.Errorf("%s %s: %d %s", method, path, status, answer)
					return
				}
				done(action, time.Since(begun))
			}
		})
	}
	wg.Go(func() {
		for time.Now().Before(until) {
			if got := status("http://" + s.visitor + "/v1/items/other/check"); got != http.StatusOK {
				t.Errorf("a check: %d", got)
				return
			}
		}
	})
	for n := 0; time.Now().Before(until); n++ { // commands, each in a process of its own
		file := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, "policies:\n  applied: {trigger_requests: %d}\n", n+1), 0o600); err != nil {
			t.Fatal(err)
		}
		for action, line := range map[string][]string{
			"policy.apply": {"apply", "-f", file, "--data-dir", dir},
			"user.add":     {"user", "add", fmt.Sprintf("u%d", n), "--role", "viewer", "--data-dir", dir},
		} {
			begun, c := time.Now(), spawnIn(t, nil, line...)
			if <-c.Ended(); c.ExitCode() != 0 || strings.Contains(c.Output(), "locked") {
				t.Errorf("%v: %d %s", line, c.ExitCode(), c.Output())
				continue
			}
			done(action, time.Since(begun))
		}
	}
	wg.Wait()

	store, err := sqlstore.Open(t.Context(), sqlstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	audited := func() map[string]int {
		n, before := map[string]int{}, int64(0)
		for {
			page, err := store.AuditLog(t.Context(), sqlstore.AuditFilter{Before: before, Most: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				n[e.Action]++
				before = e.ID
			}
			if len(page) == 0 {
				return n
			}
		}
	}
	s.await(t, "audit of all", func() bool {
		n := audited()
		for action, want := range accepted {
			if n[action] < want {
				return false
			}
		}
		return true
	})
	for action, n := range audited() {
		if want, ours := accepted[action]; ours && n != want {
			t.Errorf("%s: %d were accepted, %d are in the audit", action, want, n)
		}
	}
	if strings.Contains(s.Output(), "locked") {
		t.Error("the log tells of a locked file")
	}
	slices.Sort(took)
	t.Logf("%v accepted; 99 of 100 within %v", accepted, took[len(took)*99/100])
}

// write sends a write to the admin API, and gives status and answer.
func (s served) write(method, path, body, token string) (status int, answer string) {
	r, err := http.NewRequest(method, "http://"+s.admin+"/admin/api/v1"+path, bytes.NewBufferString(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}
