package main

import (
	"context"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/sitetest"
	"github.com/sluicehq/sluice/internal/testprogram"
)

// tryout runs what a page of docs/integrate shows, at addresses and in folders of the test's own.
type tryout struct {
	t       *testing.T
	dir     string
	at      map[string]string // the address of each place that the pages name: localhost:8080, …
	environ []string
	here    *strings.Replacer // from what the pages say to what is meant here
	back    *strings.Replacer // and back, in what programs print
}

// root is the clone, in which the pages' commands run.
const root = "../.."

// examples builds the programs that the pages run, and gives their folder.
func examples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-C", root, "-o", dir, "./examples/shop", "./examples/go/buy").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func newTryout(t *testing.T, programs string) *tryout {
	t.Helper()
	sluice, environ := self(t)
	y := &tryout{t: t, dir: t.TempDir(), at: map[string]string{}, environ: environ}
	here, back := []string{}, []string{}
	for _, said := range []string{"localhost:8080", "localhost:8081", "localhost:9090", "localhost:3000", "localhost:8000", "localhost:8788"} {
		at, err := redisserver.FreeAddr()
		if err != nil {
			t.Fatal(err)
		}
		y.at[said] = at
		here = append(here, said, at)
		back = append(back, at, said, strings.Replace(at, ":", "%3A", 1), strings.Replace(said, ":", "%3A", 1))
	}
	_, edge, _ := net.SplitHostPort(y.at["localhost:8788"])
	here = append(here,
		"/tmp/sluice", filepath.Join(y.dir, "sluice"),
		"go run ./cmd/sluice", sluice,
		"go run ./examples/shop", filepath.Join(programs, "shop")+" --listen "+y.at["localhost:3000"],
		"go run ./examples/go/buy", filepath.Join(programs, "buy"),
		"PORT=8788", "PORT="+edge,
		"$PWD/deploy/proxies/nginx/nginx.conf", y.nginx(),
		"deploy/proxies/caddy/Caddyfile", y.caddy(),
	)
	y.here, y.back = strings.NewReplacer(here...), strings.NewReplacer(back...)
	return y
}

// nginx is the configuration for nginx at the test's addresses, in a file; what it writes goes into the test's folder.
func (y *tryout) nginx() string {
	own := "http {\n\taccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		own += "\t" + kind + "_temp_path " + filepath.Join(y.dir, kind) + ";\n"
	}
	return y.configuration("nginx/nginx.conf", "listen 8000;", "listen "+y.at["localhost:8000"]+";", "http {\n", own,
		"worker_processes auto;", "master_process off;", "events {", "error_log stderr crit;\npid "+filepath.Join(y.dir, "pid")+";\nevents {")
}

// caddy is the same for Caddy.
func (y *tryout) caddy() string {
	host, port, _ := net.SplitHostPort(y.at["localhost:8000"])
	return y.configuration("caddy/Caddyfile", "\n:8000 {\n", "\n:"+port+" {\n\tbind "+host+"\n")
}

func (y *tryout) configuration(file string, changes ...string) string {
	y.t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "deploy/proxies", file))
	if err != nil {
		y.t.Fatal(err)
	}
	changes = append(changes, "127.0.0.1:8080", y.at["localhost:8080"], "127.0.0.1:3000", y.at["localhost:3000"])
	to := filepath.Join(y.dir, filepath.Base(file))
	if err := os.WriteFile(to, []byte(strings.NewReplacer(changes...).Replace(string(raw))), 0o600); err != nil {
		y.t.Fatal(err)
	}
	return to
}

// serve starts the node that a page says to start.
func (y *tryout) serve(block string) {
	y.t.Helper()
	line := strings.ReplaceAll(strings.TrimSpace(block), "\\\n", " ")
	flags, ok := strings.CutPrefix(line, "go run ./cmd/sluice serve ")
	if !ok {
		y.t.Fatalf("it is to begin with go run ./cmd/sluice serve: %s", line)
	}
	args := []string{"serve", "--listen", y.at["localhost:8080"], "--admin-listen", y.at["localhost:8081"], "--ops-listen", y.at["localhost:9090"]}
	if !strings.Contains(flags, "--public-url") {
		args = append(args, "--public-url", "http://"+y.at["localhost:8080"])
	}
	for _, flag := range strings.Fields(flags) {
		args = append(args, y.here.Replace(strings.Trim(flag, "'")))
	}
	s := served{Child: spawn(y.t, args...)}
	s.await(y.t, "readiness", func() bool { return status("http://"+y.at["localhost:8080"]+"/readyz") == http.StatusOK })
}

// start starts another program that goes on, and waits until it listens.
func (y *tryout) start(block, address string) {
	y.t.Helper()
	child, err := childproc.Start(y.shell(context.Background(), "exec env "+strings.TrimSpace(block)))
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() {
		child.Kill()
		if y.t.Failed() {
			y.t.Logf("%s\n%s", block, child.Output())
		}
	})
	sitetest.Until(y.t, "it listens at "+address, func() bool {
		conn, err := net.Dial("tcp", y.at[address])
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// run runs commands to their end, and gives what they print as the page would have it.
func (y *tryout) run(block string) string {
	y.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := y.shell(ctx, block).CombinedOutput()
	if err != nil {
		y.t.Fatalf("%v\n%s\n%s", err, block, out)
	}
	return strings.ReplaceAll(y.back.Replace(string(out)), "\r\n", "\n")
}

func (y *tryout) shell(ctx context.Context, commands string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-ec", y.here.Replace(commands))
	cmd.Dir, cmd.WaitDelay = root, time.Second // what the shell started may hold the output open
	cmd.Env = y.environ
	for i, v := range cmd.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			built, err := filepath.Abs(filepath.Join(root, "bin/test")) // Caddy
			if err != nil {
				y.t.Fatal(err)
			}
			cmd.Env = slices.Replace(slices.Clone(cmd.Env), i, i+1, "PATH="+built+":"+path+":/usr/sbin")
		}
	}
	return cmd
}

// fences are the fenced blocks of a text in Markdown.
var fences = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```")

// follow does what the page says, block after block, and compares what is printed with what the page shows.
func (y *tryout) follow(page string) {
	y.t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		y.t.Fatal(err)
	}
	printed, ran := "", 0
	for _, m := range fences.FindAllStringSubmatch(string(raw), -1) {
		words, block := strings.Fields(m[1]), m[2]
		switch {
		case len(words) == 2 && words[1] == "serve":
			y.serve(block)
		case len(words) == 3 && words[1] == "start":
			y.start(block, words[2])
		case len(words) == 2 && words[1] == "run":
			printed = y.run(block)
			ran++
		case len(words) == 1 && words[0] == "text":
			y.shows(printed, block)
		case len(words) > 0 && words[0] == "sh":
			y.t.Errorf("a block that nothing runs:\n%s", block)
		}
	}
	if ran == 0 {
		y.t.Error("the page shows no command")
	}
}

// shows wants every line of the page in what was printed, in this order; … stands for anything.
func (y *tryout) shows(printed, page string) {
	y.t.Helper()
	rest := printed
	for line := range strings.Lines(page) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*")
		found := regexp.MustCompile(pattern).FindStringIndex(rest)
		if found == nil {
			y.t.Errorf("the page shows %q, which is not to be seen in its place in\n%s", strings.TrimSpace(line), printed)
			return
		}
		rest = rest[found[1]:]
	}
}

// Every command of every page on integration runs, and does what the page says. The pages run side by side, and with no other
// test beside them: theirs have seconds that count.
func TestThePagesOnIntegrationAreTrue(t *testing.T) {
	for _, program := range []string{"sh", "curl", "go"} {
		testprogram.Find(t, program)
	}
	needs := map[string][]string{ // beside those
		"nginx.md": {"nginx"}, "caddy.md": {"caddy"}, "edge.md": {"node"},
	}
	for page := range maps.Keys(needs) {
		if _, err := os.Stat(filepath.Join(root, "docs/integrate", page)); err != nil {
			t.Error(err)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/integrate/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	programs := examples(t)
	for _, page := range pages {
		name := filepath.Base(page)
		if name == "README.md" || name == "proxies.md" || name == "typescript.md" {
			continue // the first two lead to the others; examples/typescript runs what the third one shows
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newTryout(t, programs)
			for _, program := range needs[name] {
				if y.shell(t.Context(), "command -v "+program).Run() != nil {
					testprogram.Find(t, program)
				}
			}
			y.follow(page)
		})
	}
}
