package proxies_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/testprogram"
)

var caddy = proxy{file: "caddy/Caddyfile", start: func(t *testing.T, config, at string) {
	t.Helper()
	program, dir := testprogram.Find(t, "caddy"), t.TempDir()
	host, port, _ := strings.Cut(at, ":")
	config = strings.Replace(config, "\n:8000 {\n", "\n:"+port+" {\n\tbind "+host+"\n", 1)
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "HOME="+dir)
	run(t, cmd)
}}

// caddyClosed is what the configuration says to do in order to keep everybody out while Sluice is away.
func caddyClosed(config string) string {
	head, rest, _ := strings.Cut(config, "\thandle_errors 502 503 504 {\n")
	_, tail, _ := strings.Cut(rest, "\t}\n")
	return head + "\thandle_errors 502 503 504 {\n\t\trespond 503\n\t}\n" + tail
}

func caddySecure(t *testing.T) func(string) string {
	cert, key := certificate(t)
	return func(config string) string {
		return strings.Replace(config, "\n:8000 {\n", "\n:8000 {\n\ttls "+cert+" "+key+"\n", 1)
	}
}
