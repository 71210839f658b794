package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/postgrestest"
)

// typed runs the program with something on its standard input.
func typed(t *testing.T, in string, args ...string) (out string, err error) {
	t.Helper()
	program, environ := self(t)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env, cmd.Stdin = environ, strings.NewReader(in)
	b, err := cmd.CombinedOutput()
	return string(b), err
}

func TestUser(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "Postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			place := []string{"--data-dir", t.TempDir()}
			if kind == "Postgres" {
				place = append(place, "--database-url", postgrestest.Shared(t))
				if code, _, stderr := command(t, append([]string{"migrate", "up"}, place...)...); code != 0 {
					t.Fatal(stderr)
				}
			}
			ok := func(args ...string) string {
				t.Helper()
				code, out, stderr := command(t, append(args, place...)...)
				if code != 0 {
					t.Fatalf("%v: %d %q", args, code, stderr)
				}
				return out
			}
			if out := ok("user", "add", "Ann", "--role", "admin"); !strings.Contains(out, "sluice user login-link ann") {
				t.Errorf("add: %q", out)
			}
			if out, err := typed(t, "correct horse\n", append([]string{"user", "add", "bob", "--role", "viewer", "--password", "--json"}, place...)...); err != nil ||
				!strings.Contains(out, `"has_password":true`) || !strings.Contains(out, `"signed_in_at":null`) || strings.Contains(out, "argon2") {
				t.Errorf("add --password: %v %q", err, out)
			}
			if out, err := typed(t, "short\n", append([]string{"user", "password", "bob"}, place...)...); err == nil || !strings.Contains(out, "10 to 200") {
				t.Errorf("a short password: %v %q", err, out)
			}
			if out, err := typed(t, "battery staple\n", append([]string{"user", "password", "ann", "--json"}, place...)...); err != nil || !strings.Contains(out, `"has_password":true`) {
				t.Errorf("password: %v %q", err, out)
			}
			if out := ok("user", "role", "bob", "operator", "--json"); !strings.Contains(out, `"role":"operator"`) {
				t.Errorf("role: %q", out)
			}
			if out := ok("user", "list"); !strings.Contains(out, "ann") || !strings.Contains(out, "operator") || strings.Contains(out, "argon2") {
				t.Errorf("list: %q", out)
			}
			if out := ok("user", "list", "--json"); strings.Count(out, "\n") != 2 || !json.Valid([]byte(strings.SplitN(out, "\n", 2)[0])) {
				t.Errorf("list --json: %q", out)
			}
			if out := ok("user", "login-link", "ann", "--admin-url", "https://ops.example/"); !strings.HasPrefix(out, "https://ops.example/admin/login?code=") {
				t.Errorf("login-link: %q", out)
			}
			var link struct {
				URL     string `json:"url"`
				Expires string `json:"expires_at"`
			}
			if err := json.Unmarshal([]byte(ok("user", "login-link", "ann", "--json")), &link); err != nil || !strings.HasPrefix(link.URL, "http://localhost:8081/admin/login?code=") || link.Expires == "" {
				t.Errorf("login-link --json: %+v %v", link, err)
			}
			ok("user", "remove", "bob")
			for _, tc := range []struct {
				name string
				args []string
				says string
			}{
				{"a user that is not there", []string{"user", "remove", "bob"}, "no such user"},
				{"a link for nobody", []string{"user", "login-link", "bob"}, "no such user"},
				{"a name that is taken", []string{"user", "add", "ANN", "--role", "viewer"}, "already"},
				{"a person with the role of servers", []string{"user", "add", "x", "--role", "service"}, "--role"},
				{"no role", []string{"user", "add", "x"}, "--role"},
				{"an address that cannot be", []string{"user", "login-link", "ann", "--admin-url", "ops.example"}, "--admin-url"},
			} {
				if code, out, stderr := command(t, append(tc.args, place...)...); code == 0 || !strings.Contains(stderr, tc.says) {
					t.Errorf("%s: %d %q %q", tc.name, code, out, stderr)
				}
			}
		})
	}
}
