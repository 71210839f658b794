package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/postgrestest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain lets the test binary be sluice itself, so that tests start real processes without building anything.
func TestMain(m *testing.M) {
	if os.Getenv(asSluice) != "" {
		main()
	}
	os.Exit(postgrestest.Ending{M: m}.Run())
}

const asSluice = "TEST_BINARY_IS_SLUICE"

// self is the environment and the program with which a child is sluice.
func self(t *testing.T) (program string, environ []string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program, append(os.Environ(), asSluice+"=1")
}

// spawn starts sluice as a process of its own, which ends with the test.
func spawn(t *testing.T, args ...string) *childproc.Child {
	t.Helper()
	return spawnIn(t, nil, args...)
}

// spawnIn is spawn with more variables.
func spawnIn(t *testing.T, more []string, args ...string) *childproc.Child {
	t.Helper()
	program, environ := self(t)
	cmd := exec.Command(program, args...)
	cmd.Env = append(environ, more...)
	c, err := childproc.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return c
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		args    []string
		environ []string
		code    int
		says    string
	}{
		{name: "no command shows the help", code: 0, says: "Usage: sluice <command>"},
		{name: "help", args: []string{"--help"}, code: 0, says: "Usage: sluice <command>"},
		{name: "help of a command", args: []string{"bench", "--help"}, code: 0, says: "Usage: sluice bench"},
		{name: "version", args: []string{"--version"}, code: 0, says: "sluice "},
		{name: "an unknown command", args: []string{"cook"}, code: exitUsage, says: "cook"},
		{name: "an unknown flag", args: []string{"serve", "--mover-tock=1s"}, code: exitUsage, says: "--mover-tock"},
		{name: "a setting out of range", args: []string{"serve", "--mover-tick=1s1"}, code: exitUsage, says: "--mover-tick"},
		{name: "an unknown variable", args: []string{"serve"}, environ: []string{"SLUICE_MOVER_TOCK=1s"}, code: exitUsage, says: "SLUICE_MOVER_TOCK"},
		{name: "a data folder that cannot be", args: []string{"serve", "--data-dir=/dev/null/x"}, code: exitFailed, says: "--data-dir"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			if code := run(c.args, c.environ, &out, &errs); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, errs.String())
			}
			if text := out.String() + errs.String(); !strings.Contains(text, c.says) {
				t.Errorf("it says %q", text)
			}
			if c.code != 0 && strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("not one line: %q", errs.String())
			}
		})
	}
}

// Units and defaults of every setting are in serve --help, read in review as a whole.
func TestHelpOfServe(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	if code := run([]string{"serve", "--help"}, nil, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	golden := filepath.Join("testdata", "help-serve.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("%s is not what --help says; go test -update writes it anew:\n%s", golden, out.String())
	}
}
