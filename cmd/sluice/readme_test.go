package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks are the README's fenced blocks of one kind.
func blocks(t *testing.T, kind string) []string {
	t.Helper()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+kind+"\n(.*?)^```").FindAllStringSubmatch(string(raw), -1) {
		out = append(out, m[1])
	}
	return out
}

// TestReadme runs what the README shows under "five minutes to a first queue", one block after the other, against the
// node that it tells to start.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("SKIPPED: %v", err)
		}
	}
	start := blocks(t, "sh serve")
	if len(start) != 1 || !strings.HasPrefix(start[0], "go run ./cmd/sluice serve --data-dir /tmp/sluice ") {
		t.Fatalf("how to start a node: %q", start)
	}
	_, flags, _ := strings.Cut(start[0], "--data-dir /tmp/sluice ")
	s := serve(t, strings.Fields(flags)...)

	dir := t.TempDir()
	place := strings.NewReplacer("localhost:8080", s.visitor, "localhost:8081", s.admin, "/tmp/sluice", filepath.Join(dir, "sluice"))
	want := [][]string{ // what each block's output holds
		{`"action":"pass"`, `"reason":"queue_off"`},
		{`"inflow_per_second":0.2`, `"state":"open"`},
		{`"action":"wait"`, `"position":1,`, `"position":2,`, `"position":3,`},
		{`"action":"pass"`, `"reason":"admitted"`, `"token":`},
		{`"set_per_second":0.2`, `"state":"off"`},
	}
	shown := blocks(t, "sh run")
	if len(shown) != len(want) {
		t.Fatalf("%d blocks, want %d", len(shown), len(want))
	}
	for i, block := range shown {
		out, err := exec.Command("sh", "-ec", place.Replace(block)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, block, out)
		}
		for _, part := range want[i] {
			if !strings.Contains(string(out), part) {
				t.Errorf("no %s from\n%s\n%s", part, block, out)
			}
		}
	}
}

// TestReadmeNamesTargetsThatAreThere looks at the two commands with which the README begins.
func TestReadmeNamesTargetsThatAreThere(t *testing.T) {
	t.Parallel()
	shown := blocks(t, "sh")
	if len(shown) == 0 {
		t.Fatal("no block of shell commands")
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	for line := range strings.Lines(shown[0]) {
		command, _, _ := strings.Cut(line, "#")
		words := append(strings.Fields(command), "-n", "-C", "../..") // says what it would do
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil || words[0] != "make" {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}
