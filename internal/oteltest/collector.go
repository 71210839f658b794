package oteltest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/testprogram"
)

// Collector is the name of its program.
const Collector = "otelcol"

// StartCollector starts the collector by a configuration, waits until it listens at an address, and ends it with the
// test. Where the program is missing the test is skipped; with CI set it fails.
func StartCollector(t testing.TB, config, address string) {
	t.Helper()
	child, err := childproc.Start(exec.Command(testprogram.Find(t, Collector), "--config", config, "--set", "service.telemetry.metrics.level=none"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Kill()
		if t.Failed() {
			t.Logf("collector: %s", child.Output())
		}
	})
	for late := time.Now().Add(30 * time.Second); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(late) {
			t.Fatalf("the collector does not listen at %s: %s", address, child.Output())
		}
		select {
		case <-child.Ended():
			t.Fatalf("the collector has ended: %s", child.Output())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Through starts a collector that hands each span on to a receiver at once, and gives the address at which it takes them.
func Through(t testing.TB, to *Receiver) string {
	t.Helper()
	at, err := redisserver.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "collector.yaml")
	text := fmt.Sprintf("receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}\n"+
		"exporters: {otlp: {endpoint: %q, tls: {insecure: true}}}\n"+
		"service: {pipelines: {traces: {receivers: [otlp], exporters: [otlp]}}}\n", at, to.Address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	StartCollector(t, config, at)
	return at
}
