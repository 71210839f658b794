package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/postgrestest"
)

func TestKey(t *testing.T) {
	t.Parallel()
	place := []string{"--data-dir", t.TempDir()}
	ok := func(args ...string) string {
		t.Helper()
		code, out, stderr := command(t, append(args, place...)...)
		if code != 0 {
			t.Fatalf("%v: %d %q", args, code, stderr)
		}
		return out
	}
	connector := func(args ...string) (v struct {
		CustomerID string `json:"customer_id"`
		Secret     string
	}) {
		t.Helper()
		out := ok(append([]string{"key", "connector", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%v: %q", err, out)
		}
		return v
	}
	first := connector()
	if first.CustomerID == "" || len(first.Secret) < 32 || connector() != first {
		t.Errorf("made at the first call, and shown from then on: %+v, %+v", first, connector())
	}
	if got := connector("--customer-id", "shop"); got.CustomerID != "shop" || got.Secret != first.Secret {
		t.Errorf("another id: %+v", got)
	}
	if got := connector("--secret", "the-secret-of-the-site"); got.CustomerID != "shop" || got.Secret != "the-secret-of-the-site" {
		t.Errorf("another secret: %+v", got)
	}
	if out := ok("key", "connector"); !strings.Contains(out, "shop") || !strings.Contains(out, "the-secret-of-the-site") {
		t.Errorf("text: %q", out)
	}
	if out := ok("key", "connector", "--off", "--json"); out != `{"customer_id":null,"secret":null}`+"\n" {
		t.Errorf("off: %q", out)
	}
	if out := ok("key", "list"); !strings.Contains(out, "signing") || strings.Count(out, "\n") != 2 {
		t.Errorf("list: %q", out)
	}
	var made struct {
		Number int
		Kid    string
		State  string
	}
	if err := json.Unmarshal([]byte(ok("key", "rotate", "--json")), &made); err != nil || made.Number != 2 || made.State != "coming" {
		t.Errorf("rotate: %+v %v", made, err)
	}
	if out := ok("key", "list", "--json"); strings.Count(out, "\n") != 2 || !strings.Contains(out, made.Kid) {
		t.Errorf("list --json: %q", out)
	}
	for _, tc := range []struct {
		name string
		args []string
		says string
	}{
		{"a rotation while another is on its way", []string{"key", "rotate"}, "on its way"},
		{"an id that cannot be", []string{"key", "connector", "--customer-id", "a b"}, "customer_id"},
		{"off, and set", []string{"key", "connector", "--off", "--secret", "the-secret-of-the-site"}, "--off"},
		{"a secret key that is none", []string{"key", "list", "--secret-key", "c2hvcnQ="}, "--secret-key"},
	} {
		if code, out, stderr := command(t, append(tc.args, place...)...); code == 0 || !strings.Contains(stderr, tc.says) {
			t.Errorf("%s: %d %q %q", tc.name, code, out, stderr)
		}
	}
	code, _, stderr := command(t, "key", "list", "--database-url", postgrestest.Shared(t), "--data-dir", t.TempDir())
	if code == 0 || !strings.Contains(stderr, "--secret-key") {
		t.Errorf("a shared database without the nodes' secret key: %d %q", code, stderr)
	}
}
