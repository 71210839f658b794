// Package typescript tests the client for TypeScript: against the contract, and against a real node.
package typescript

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/sitetest"
)

// build compiles the client, with types made of the contract beside it, and gives the folder of the result.
func build(t *testing.T) string {
	t.Helper()
	sitetest.Need(t, "node")
	if _, err := os.Stat("node_modules/.bin/tsc"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the npm packages are missing; deploy/install-test-deps.sh installs them")
		}
		t.Skip("SKIPPED: no npm packages here; deploy/install-test-deps.sh installs them")
	}
	dir := t.TempDir()
	run(t, "node_modules/.bin/openapi-typescript", "../../gate/openapi.json", "-o", filepath.Join(dir, "openapi.d.ts"))
	for _, name := range []string{"sluice.ts", "contract.ts", "buy.ts", "tsconfig.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	run(t, "node_modules/.bin/tsc", "-p", dir)
	return filepath.Join(dir, "out")
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

func TestTheClientLinesUpWaitsAndBuys(t *testing.T) {
	t.Parallel()
	out := build(t) // compiles only while the types are those of the contract
	s := sitetest.New(t, "")
	s.Call("PATCH", "/policies/sku-1", `{"claim_seconds": 10}`) // bounds the pause between two polls
	s.On("sku-1", 0.001)                                        // nobody is due for a quarter of an hour
	buy, err := childproc.Start(exec.Command("node", filepath.Join(out, "buy.js"), s.Sluice, "sku-1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(buy.Kill)
	sitetest.Until(t, "the buyer says where it stands", func() bool {
		select {
		case <-buy.Ended():
			t.Fatalf("the buyer has gone: %s", buy.Output())
		default:
		}
		return strings.Contains(buy.Output(), "position 1, ")
	})
	s.On("sku-1", 10)
	<-buy.Ended()
	said := buy.Output()
	for _, want := range []string{"no place yet\n", "position ", "pass: admitted\n", "inside until 20", "bought"} {
		_, rest, found := strings.Cut(said, want)
		if !found {
			t.Fatalf("no %q in order in\n%s", want, said)
		}
		said = rest
	}
	bad, err := exec.Command("node", filepath.Join(out, "buy.js"), s.Sluice, "not an item").CombinedOutput()
	if err == nil || !strings.Contains(string(bad), "SluiceError") {
		t.Errorf("a bad name: %v %s", err, bad)
	}
}
