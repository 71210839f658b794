package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/postgrestest"
	"github.com/sluicehq/sluice/internal/settingsfile"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

func TestApply(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "Postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			place, o := []string{"--data-dir", dir}, sqlstore.Options{Dir: dir, AutoMigrate: true}
			if kind == "Postgres" {
				o.URL = postgrestest.Shared(t)
				place = append(place, "--database-url", o.URL)
				if code, _, stderr := command(t, append([]string{"migrate", "up"}, place...)...); code != 0 {
					t.Fatal(stderr)
				}
			}
			apply := func(file string, more ...string) (int, string, string) {
				t.Helper()
				name := filepath.Join(t.TempDir(), "policies.yaml")
				if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
				return command(t, append(append([]string{"apply", "-f", name}, more...), place...)...)
			}
			version := func() int64 {
				t.Helper()
				s, err := sqlstore.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				v, err := s.Versions(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return v.Settings
			}
			const file = "policies:\n  \"*\":\n    trigger_requests: 100\n  concert-*:\n    inflow_per_second: 5.5\n    wait_page:\n      title:\n        ko: \"곧 열립니다\"\n"
			before := version()
			if code, out, stderr := apply(file, "--dry-run"); code != 0 || !strings.Contains(out, "concert-*: made") || !strings.Contains(out, "trigger_requests: 500 -> 100") ||
				!strings.Contains(out, `wait_page.title: {} -> {"ko":"곧 열립니다"}`) || version() != before {
				t.Fatalf("dry run: %d %s %s", code, out, stderr)
			}
			if code, out, _ := apply(file); code != 0 || !strings.HasSuffix(out, "applied\n") || version() == before {
				t.Fatalf("apply: %d %s", code, out)
			}
			at := version()
			if code, out, _ := apply(file); code != 0 || out != "nothing to change\n" || version() != at {
				t.Errorf("again: %d %s", code, out)
			}
			// All or nothing, and the line is named (B061).
			code, out, stderr := apply("policies:\n  a: {}\n  b: {}\n  c:\n    mode: maybe\n")
			if code == 0 || out != "" || !strings.Contains(stderr, "line 5") || !strings.Contains(stderr, "mode") || version() != at {
				t.Errorf("a bad one among good ones: %d %s %s", code, out, stderr)
			}
			code, out, _ = apply("policies:\n  x: {}\n", "--prune", "--json")
			var got struct {
				DryRun  bool `json:"dry_run"`
				Changes []struct{ Pattern, Change string }
			}
			if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil || len(got.Changes) != 3 || got.Changes[0].Pattern != "*" || got.Changes[0].Change != "deleted" ||
				got.Changes[1].Change != "deleted" || got.Changes[2].Change != "made" {
				t.Errorf("prune: %d %s", code, out)
			}
			if code, _, stderr := command(t, append([]string{"apply", "-f", filepath.Join(dir, "none")}, place...)...); code == 0 || !strings.Contains(stderr, "--file") {
				t.Errorf("no file: %d %s", code, stderr)
			}
			s, err := sqlstore.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			audit, err := s.AuditLog(t.Context(), sqlstore.AuditFilter{Most: 100})
			if err != nil || len(audit) != 5 || audit[0].Via != "command line" {
				t.Errorf("audit: %d %v", len(audit), err)
			}
		})
	}
}

func TestTheFileOfADocumentIsOne(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/settings-in-git.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "```yaml\n")
	file, _, _ := strings.Cut(rest, "```")
	f, err := settingsfile.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := settingsfile.Write(f); err != nil || string(again) != file {
		t.Errorf("%v\n%s", err, again)
	}
}
