package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/oteltest"
)

// shellBlocks are the commands that a page of docs shows.
func shellBlocks(t *testing.T, page string) (shown []string) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fences.FindAllStringSubmatch(string(raw), -1) {
		if m[1] != "sh" {
			t.Errorf("%s: a block of the kind %q is run by nobody", page, m[1])
		}
		shown = append(shown, m[2])
	}
	if len(shown) == 0 {
		t.Fatalf("%s shows no command", page)
	}
	return shown
}

// What docs/operations.md shows is run beside a node on the same data folder, and the node's database is where it says.
func TestOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve(t, "--data-dir", dir)
	program, environ := self(t)
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "sluice")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", strings.Join(shellBlocks(t, "../../docs/operations.md"), "\n"))
	cmd.Env = append(environ, "PATH="+bin+":"+os.Getenv("PATH"), "SLUICE_DATA_DIR="+dir, "SLUICE_ADMIN_URL=https://ops.example")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, part := range []string{"added ada", "https://ops.example/admin/login?code=", "is published", "up to date"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("no %q from\n%s", part, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sluice.db")); err != nil {
		t.Error(err)
	}
}

// A node that is started as docs/observability.md shows sends its traces to where the page says.
func TestANodeSendsItsTracesAsThePageShows(t *testing.T) {
	t.Parallel()
	shown := shellBlocks(t, "../../docs/observability.md")
	variables, flags, ok := strings.Cut(shown[0], " sluice serve ")
	if len(shown) != 1 || !ok || !strings.Contains(variables, "http://collector:4317") {
		t.Fatalf("how to send traces: %q", shown)
	}
	to := oteltest.NewReceiver(t)
	const token = "observability-token"
	s := serveIn(t, strings.Fields(strings.ReplaceAll(variables, "collector:4317", to.Address)), append(strings.Fields(flags), "--bootstrap-admin-token", token)...)
	s.call(t, http.MethodPost, "http://"+s.admin+"/admin/api/v1/items/sku-1/activate", http.Header{"Authorization": {"Bearer " + token}}).Body.Close()
	s.await(t, "span of what an operator wrote", func() bool {
		for _, span := range to.Spans() {
			if span.Name == "POST /admin/api/v1/items/{item}/activate" {
				return true
			}
		}
		return false
	})
}

// Each call of the admin API that operators are told to make is one that there is.
func TestCallsInOperatorsPagesAreThere(t *testing.T) {
	t.Parallel()
	s := serve(t, "--bootstrap-admin-token", "operators-pages-token")
	resp := s.call(t, http.MethodGet, "http://"+s.admin+"/admin/api/openapi.json", http.Header{"Authorization": {"Bearer operators-pages-token"}})
	defer resp.Body.Close()
	document, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	known := operationsOf(t, document)
	pages, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, "../../docs/operations.md", "../../docs/observability.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) /admin/api/v1(/[^` ?]*)").FindAllStringSubmatch(string(text), -1) {
			if seen++; !known[m[1]+" "+generic(m[2])] {
				t.Errorf("%s tells to %s %s, which is not there", page, m[1], m[2])
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d calls found", seen)
	}
}

// operationsOf lists what an OpenAPI document has, as generic writes it.
func operationsOf(t *testing.T, document []byte) map[string]bool {
	t.Helper()
	var d struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for path, methods := range d.Paths {
		for method := range methods {
			known[strings.ToUpper(method)+" "+generic(strings.TrimPrefix(path, "/admin/api/v1"))] = true
		}
	}
	return known
}

// parameter is a part of a path that stands for something else: {item}, or ID.
var parameter = regexp.MustCompile(`\{[^}]*\}|\b[A-Z]+\b`)

func generic(path string) string { return parameter.ReplaceAllString(path, "{}") }
