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
	"github.com/sluicehq/sluice/internal/testprogram"
)

// page is the document on this client.
const page = "../../docs/integrate/typescript.md"

// build compiles the client by the commands that the document shows, with types made of the contract that the node serves,
// and gives the folder of the result.
func build(t *testing.T, s *sitetest.Site) string {
	t.Helper()
	testprogram.Find(t, "node")
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, ".bin/tsc")); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the npm packages are missing; deploy/install-test-deps.sh installs them")
		}
		t.Skip("SKIPPED: no npm packages here; deploy/install-test-deps.sh installs them")
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(raw), "```sh run\n")
	commands, rest, _ := strings.Cut(commands, "```")
	if !strings.Contains(rest, "node /tmp/sluice-client/out/buy.js http://localhost:8080 sku-1\n") {
		t.Error("the document does not show how to run the example as it is run here")
	}
	dir := filepath.Join(t.TempDir(), "client")
	here := strings.NewReplacer(
		// The packages are there: deploy/install-test-deps.sh installs those of package-lock.json.
		"cp -r examples/typescript /tmp/sluice-client", "mkdir "+dir+" && cp *.ts *.json "+dir+" && ln -s "+modules+" "+dir+"/node_modules",
		"npm ci ", "true ", "/tmp/sluice-client", dir, "http://localhost:8080", s.Sluice,
	)
	run(t, "sh", "-ec", here.Replace(commands))
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
	s := sitetest.New(t, "")
	out := build(t, s)                                          // compiles only while the types are those of the contract
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
