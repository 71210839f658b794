package proxies_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/testprogram"
)

var nginx = proxy{file: "nginx/nginx.conf", start: func(t *testing.T, config, at string) {
	t.Helper()
	program, dir := testprogram.Find(t, "nginx"), t.TempDir()
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += "\t" + kind + "_temp_path " + filepath.Join(dir, kind) + ";\n"
	}
	config = strings.Replace(config, "listen 8000", "listen "+at, 1)
	config = strings.Replace(config, "http {\n", "http {\n\taccess_log off;\n"+temp, 1)
	config = "daemon off;\nmaster_process off;\nerror_log stderr crit;\npid " + filepath.Join(dir, "pid") + ";\n" + config
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, exec.Command(program, "-c", file, "-p", dir, "-e", "stderr"))
}}

// nginxClosed is what the configuration says to do in order to keep everybody out while Sluice is away.
func nginxClosed(config string) string {
	head, rest, _ := strings.Cut(config, "location @sluice_away {\n")
	return head + "location @sluice_away {\n" + strings.Replace(rest, "proxy_pass http://shop;", "return 503;", 1)
}

func nginxSecure(t *testing.T) func(string) string {
	cert, key := certificate(t)
	return func(config string) string {
		return strings.Replace(config, "listen 8000;", "listen 8000 ssl http2;\n\t\tssl_certificate "+cert+";\n\t\tssl_certificate_key "+key+";", 1)
	}
}
