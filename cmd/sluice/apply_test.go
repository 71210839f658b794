package main

import (
	"encoding/json"
	"fmt"
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
			salesFromAFile(t, apply, version)
			if code, _, stderr := command(t, append([]string{"apply", "-f", filepath.Join(dir, "none")}, place...)...); code == 0 || !strings.Contains(stderr, "--file") {
				t.Errorf("no file: %d %s", code, stderr)
			}
			s, err := sqlstore.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			audit, err := s.AuditLog(t.Context(), sqlstore.AuditFilter{Most: 100})
			if err != nil || len(audit) != 13 || audit[0].Via != "command line" {
				t.Errorf("audit: %d %v", len(audit), err)
			}
		})
	}
}

// salesFromAFile is B061 and its kind: of a file of which anything is wrong, or does not fit what is there, nothing is
// applied; what it leaves as it is is not touched. It makes 8 changes.
func salesFromAFile(t *testing.T, apply func(string, ...string) (int, string, string), version func() int64) {
	t.Helper()
	one := func(id, item, opens, closes string) string {
		return fmt.Sprintf("  %s:\n    name: %s\n    item: %s\n    opens_at: %q\n    closes_at: %q\n    time_zone: Asia/Seoul\n", id, id, item, opens, closes)
	}
	early, late := one("a", "sku-1", "2030-01-01T10:00:00", "2030-01-01T12:00:00"), one("b", "sku-1", "2030-01-01T14:00:00", "2030-01-01T16:00:00")
	good := "sales:\n" + early + late + one("c", "sku-2", "2030-01-01T10:00:00", "2030-01-01T12:00:00") + one("d", "sku-3", "2030-01-01T10:00:00", "2030-01-01T12:00:00")
	at := version()
	refused := func(name, file, line, says string) {
		t.Helper()
		for _, dry := range [][]string{nil, {"--dry-run"}} {
			code, out, stderr := apply(file, dry...)
			if code == 0 || out != "" || strings.Count(strings.TrimSpace(stderr), "\n") > 0 || !strings.Contains(stderr, line) || !strings.Contains(stderr, says) || version() != at {
				t.Errorf("%s: %d %s %s", name, code, out, stderr)
			}
		}
	}
	bad := one("e", "sku-4", "2030-01-01T10:00:00", "2030-01-01T12:00:00")
	refused("a bad zone", good+strings.Replace(bad, "Asia/Seoul", "Mars/Olympus", 1), "line 31", `sale "e": time_zone`)
	refused("two at one time", good+strings.Replace(bad, "sku-4", "sku-3", 1), "line 20", "is on")
	refused("a queue that is never on", good+bad+"policies:\n  sku-4: {mode: off}\n", "line 26", "mode is off")
	if code, out, stderr := apply(good, "--dry-run"); code != 0 || !strings.Contains(out, "sale a: made") || !strings.Contains(out, `opens_at: null -> "2030-01-01T01:00:00.000Z"`) || version() != at {
		t.Errorf("dry run: %d %s %s", code, out, stderr)
	}
	if code, out, stderr := apply(good); code != 0 || strings.Count(out, ": made") != 4 {
		t.Errorf("sales: %d %s %s", code, out, stderr)
	}
	at = version()
	if code, out, _ := apply(good); code != 0 || out != "nothing to change\n" || version() != at {
		t.Errorf("again: %d %s", code, out)
	}
	refused("one that is there", "sales:\n"+strings.Replace(early, "  a:", "  f:", 1), "line 2", "is on")
	// Two that change their times with each other, one that goes, and one that stays.
	swapped := "sales:\n" + strings.Replace(late, "  b:", "  a:", 1) + strings.Replace(early, "  a:", "  b:", 1) + one("d", "sku-3", "2030-01-01T10:00:00", "2030-01-01T12:00:00")
	if code, out, stderr := apply(swapped, "--prune"); code != 0 || strings.Count(out, ": changed") != 2 || !strings.Contains(out, "sale c: deleted") || strings.Contains(out, "sale d") {
		t.Errorf("swapped: %d %s %s", code, out, stderr)
	}
	if code, out, stderr := apply("sales:\n"+strings.Replace(bad, "    name", "    overrides: {inflow_per_second: 5}\n    name", 1), "--json"); code != 0 ||
		!strings.Contains(out, `"pattern":null,"sale":"e","change":"made"`) || !strings.Contains(out, `{"field":"overrides.inflow_per_second","before":null,"after":5}`) {
		t.Errorf("json: %d %s %s", code, out, stderr)
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
