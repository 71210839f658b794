package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAdministration runs what docs/admin.md and the pages of sales and settings show, one block after the other in one
// shell, beside the node that the first of them starts.
func TestAdministration(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	var shown, nodes []string
	for _, name := range []string{"admin", "sales", "settings-in-git"} {
		raw, err := os.ReadFile("../../docs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fences.FindAllStringSubmatch(string(raw), -1) {
			switch m[1] {
			case "sh run":
				shown = append(shown, m[2])
			case "sh serve":
				nodes = append(nodes, strings.ReplaceAll(m[2], "\\\n", " "))
			case "yaml":
				shown = append(shown, "cat > settings.yaml <<'END'\n"+m[2]+"END\n")
			default:
				t.Errorf("%s.md: a block of the kind %q is run by nobody", name, m[1])
			}
		}
	}
	if len(nodes) != 1 || !strings.HasPrefix(nodes[0], "sluice serve ") {
		t.Fatalf("how to start a node: %q", nodes)
	}
	dir := t.TempDir()
	s := serve(t, append(strings.Fields(nodes[0])[2:], "--data-dir", dir)...)
	resp := s.call(t, http.MethodGet, "http://"+s.admin+"/admin/login", nil)
	page, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(page), `id="sso"`) {
		t.Errorf("the login page offers no single sign-on: %v %s", err, page)
	}

	program, environ := self(t)
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "sluice")); err != nil {
		t.Fatal(err)
	}
	const mark = "=== the next block"
	// The node takes the token over within a second.
	const known = "until [ -z \"${TOKEN:-}\" ] || curl -sf -o /dev/null -H \"Authorization: Bearer $TOKEN\" http://localhost:8081/admin/api/v1/items; do sleep 0.1; done"
	place := strings.NewReplacer("localhost:8081", s.admin, "2026-11-27", time.Now().AddDate(1, 0, 0).Format(time.DateOnly))
	cmd := exec.Command("sh", "-euc", place.Replace(strings.Join(shown, "\n"+known+"\necho\necho '"+mark+"'\n")))
	cmd.Dir = t.TempDir()
	cmd.Env = append(environ, "PATH="+bin+":"+os.Getenv("PATH"), "SLUICE_DATA_DIR="+dir, "SLUICE_ADMIN_URL=https://ops.example")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := [][]string{ // what each block prints
		{"added ada", "https://ops.example/admin/login?code="},
		{"added bob", "bob is operator", "the password of bob is set", "password"},
		{"removed bob"},
		{"deploy", "admin"},
		{`"name":"ada"`, `"name":"eve"`, `"token":"sluice_`},
		{"is published", "NUMBER", "customer id"},
		{`"activations":[]`},
		{"user.remove", `"via":"command line"`},
		{`"name":"dan"`, `"role":"marketer"`, `"url":"https://ops.example/`, `"token":"sluice_`, `"kid"`, `"dry_run":true`, `"dry_run":false`},
		{`"name":"Black Friday"`, `"phase":"planned"`},
		{},
		{"sale black-friday: made", "a dry run", "applied", "sku-*: deleted"},
	}
	got := strings.Split(string(out), mark)
	if len(got) != len(want) {
		t.Fatalf("%d blocks, want %d:\n%s", len(got), len(want), out)
	}
	for i, parts := range want {
		for _, part := range parts {
			if !strings.Contains(got[i], part) {
				t.Errorf("no %s from\n%s\n%s", part, shown[i], got[i])
			}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(got[len(got)-4])) {
		if !json.Valid([]byte(line)) {
			t.Errorf("--json prints %q", line)
		}
	}
	file, err := os.Open(filepath.Join(cmd.Dir, "audit.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if rows, err := csv.NewReader(file).ReadAll(); err != nil || len(rows) != 3 || rows[1][5] != "token.add" {
		t.Errorf("audit.csv: %v %v", rows, err)
	}
	whole, err := os.ReadFile(filepath.Join(cmd.Dir, "audit.json"))
	if err != nil || !json.Valid(whole) || !strings.Contains(string(whole), "key.rotate") {
		t.Errorf("audit.json: %s %v", whole, err)
	}
}
