// Package testprogram finds the programs that tests run beside Go's own.
package testprogram

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Find gives the path of a program: in bin/test, where deploy/install-test-deps.sh puts what the system has no fitting
// package of, else in PATH or /usr/sbin. Where there is none the test is skipped, loudly; with CI set it fails.
func Find(t testing.TB, program string) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	built := filepath.Join(filepath.Dir(here), "../../bin/test", program)
	for _, name := range []string{built, program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing; deploy/install-test-deps.sh installs it", program)
	}
	t.Skipf("SKIPPED: no %s here; deploy/install-test-deps.sh installs it", program)
	return ""
}
