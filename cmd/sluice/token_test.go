package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/postgrestest"
)

// command runs the program as the shell does and gives its exit code and output.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, nil, &out, &errs)
	return code, out.String(), errs.String()
}

func TestToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, plain, stderr := command(t, "token", "add", "shop", "--role", "service", "--data-dir", dir)
	if plain = strings.TrimSpace(plain); code != 0 || !strings.HasPrefix(plain, "sluice_") || strings.ContainsAny(plain, " \n") {
		t.Fatalf("add: %d %q %q", code, plain, stderr)
	}
	code, out, stderr := command(t, "token", "add", "ops", "--role", "operator", "--expires", "24h", "--json", "--data-dir", dir)
	var made struct{ ID, Name, Role, Token string }
	if err := json.Unmarshal([]byte(out), &made); code != 0 || err != nil || made.Token == "" || made.Role != "operator" || !strings.Contains(out, `"last_used_at":null`) {
		t.Fatalf("add --json: %d %q %q", code, out, stderr)
	}
	if code, out, _ = command(t, "token", "list", "--data-dir", dir); code != 0 || !strings.Contains(out, "shop") || strings.Contains(out, plain) || strings.Contains(out, made.Token) {
		t.Errorf("list: %d %q", code, out)
	}
	if code, out, _ = command(t, "token", "list", "--json", "--data-dir", dir); code != 0 || strings.Count(out, "\n") != 2 {
		t.Errorf("list --json: %d %q", code, out)
	}
	if code, out, stderr = command(t, "token", "delete", made.ID, "--json", "--data-dir", dir); code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, made.ID) {
		t.Errorf("delete --json: %d %q %q", code, out, stderr)
	}
	for _, tc := range []struct {
		name string
		args []string
		says string
	}{
		{"a token that is not there", []string{"token", "delete", made.ID}, "no such token"},
		{"no such role", []string{"token", "add", "x", "--role", "root"}, "--role"},
		{"no role", []string{"token", "add", "x"}, "--role"},
		{"no name", []string{"token", "add", " ", "--role", "viewer"}, "name must be"},
		{"a time in the past", []string{"token", "add", "x", "--role", "viewer", "--expires=-1h"}, "--expires"},
		{"a Postgres that is not there", []string{"token", "list", "--database-url", "postgres://u:hunter2@127.0.0.1:1/d"}, "127.0.0.1"},
	} {
		code, out, stderr := command(t, append(tc.args, "--data-dir", dir)...)
		if code == 0 || !strings.Contains(stderr, tc.says) || strings.Contains(out+stderr, "hunter2") {
			t.Errorf("%s: %d %q %q", tc.name, code, out, stderr)
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "Postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			place := []string{"--data-dir", t.TempDir()}
			if kind == "Postgres" {
				place = append(place, "--database-url", postgrestest.Shared(t))
			}
			do := func(says string, args ...string) {
				t.Helper()
				code, out, stderr := command(t, append(args, place...)...)
				if code != 0 || !strings.Contains(out, says) {
					t.Fatalf("%v: %d %q %q", args, code, out, stderr)
				}
			}
			do("pending", "migrate", "status")
			code, _, stderr := command(t, append([]string{"serve", "--no-auto-migrate"}, place...)...)
			if code != exitFailed || !strings.Contains(stderr, "sluice migrate up") {
				t.Errorf("serve on a schema that is behind: %d %q", code, stderr)
			}
			do("step", "migrate", "up")
			do("up to date", "migrate", "up")
			do("applied", "migrate", "status")
			do("", "token", "add", "ann", "--role", "viewer")
			do("ann", "token", "list")
			for range 100 {
				if _, out, _ := command(t, append([]string{"migrate", "down"}, place...)...); !strings.Contains(out, "Undid step") {
					break
				}
			}
			do("no step", "migrate", "down")
			do("pending", "migrate", "status")
		})
	}
	if _, out, _ := command(t, "migrate", "--help"); !strings.Contains(out, "down") {
		t.Errorf("help: %q", out)
	}
}
