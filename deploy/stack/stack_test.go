// Package stack_test looks at what docker-compose.yml starts without starting it: the file by the library that Docker
// reads it with, each service's configuration by the service's own program.
package stack_test

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/goccy/go-yaml"

	"github.com/sluicehq/sluice/dashboards"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/testprogram"
)

const root = "../.."

// project is the compose file with all its profiles.
func project(t *testing.T) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithProfiles([]string{"*"}), cli.WithEnv(nil))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pinned is an image of one version, down to its last number.
var pinned = regexp.MustCompile(`:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$`)

func TestEachServiceIsPinnedHealthyAndHasItsFiles(t *testing.T) {
	t.Parallel()
	p := project(t)
	for _, name := range []string{"sluice-1", "sluice-2", "redis", "postgres", "nginx", "collector", "jaeger", "prometheus", "grafana", "demo"} {
		if _, ok := p.Services[name]; !ok {
			t.Errorf("no service %s", name)
		}
	}
	for name, s := range p.Services {
		if s.Image != "sluice:local" && !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %s is not pinned to a version", name, s.Image)
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !v.ReadOnly {
				t.Errorf("%s may write %s", name, v.Source)
			}
		}
		for _, port := range s.Ports {
			if at, err := netip.ParseAddr(port.HostIP); err != nil || !at.IsLoopback() {
				t.Errorf("%s: port %s is open to others than this machine", name, port.Published)
			}
		}
		for on, d := range s.DependsOn {
			check := p.Services[on].HealthCheck
			own := p.Services[on].Image == "sluice:local" // the image has its own
			if d.Condition == types.ServiceConditionHealthy && !own && (check == nil || check.Disable) {
				t.Errorf("%s waits for the health of %s, which nobody asks for", name, on)
			}
		}
	}
}

func TestTheNodesSettingsAreTaken(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	image := regexp.MustCompile(`SLUICE_\w+=\S+`).FindAllString(string(dockerfile), -1)
	nodes := 0
	for name, s := range project(t).Services {
		if s.Image != "sluice:local" || s.Profiles != nil {
			continue
		}
		nodes++
		environ := slices.Clone(image)
		for env, value := range s.Environment {
			environ = append(environ, env+"="+*value)
		}
		var flags config.Flags
		sources := config.Sources{Environ: environ}
		k, err := kong.New(&flags, sources.Options()...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Parse(nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := flags.Serve(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if nodes != 2 {
		t.Errorf("%d nodes, want 2", nodes)
	}
}

// changed writes a configuration with some of it replaced, and gives its path.
func changed(t *testing.T, file string, oldnew ...string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(string(raw), oldnew[i]) {
			t.Fatalf("%s: there is no %q", file, oldnew[i])
		}
	}
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(path, []byte(strings.NewReplacer(oldnew...).Replace(string(raw))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrometheusTakesItsConfiguration(t *testing.T) {
	t.Parallel()
	rules, err := filepath.Abs(filepath.Join(root, "dashboards/alerts"))
	if err != nil {
		t.Fatal(err)
	}
	conf := changed(t, "prometheus/prometheus.yml", "/etc/prometheus/rules", rules)
	if out, err := exec.CommandContext(t.Context(), testprogram.Find(t, "promtool"), "check", "config", conf).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestNginxTakesItsConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := changed(t, "nginx/nginx.conf", "/tmp/", dir+"/", "sluice-1:", "127.0.0.1:", "sluice-2:", "127.0.0.2:") // names that only the stack knows
	if out, err := exec.CommandContext(t.Context(), testprogram.Find(t, "nginx"), "-t", "-q", "-c", conf, "-p", dir, "-e", "stderr").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The store keeps what it has been told, and refuses instead of forgetting.
func TestRedisTakesItsConfiguration(t *testing.T) {
	t.Parallel()
	if redisserver.Installed() != nil {
		testprogram.Find(t, "redis-server")
	}
	conf, err := filepath.Abs("redis/redis.conf")
	if err != nil {
		t.Fatal(err)
	}
	s, err := redisserver.Start("--include", conf)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Client()
	defer c.Close()
	for name, want := range map[string]string{"appendonly": "yes", "maxmemory-policy": "noeviction", "appendfsync": "everysec"} {
		if got, err := c.ConfigGet(t.Context(), name).Result(); err != nil || got[name] != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}

// The collector takes all that nodes send, within its memory.
func TestTheCollectorBoundsItsMemoryFirst(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("otel/collector.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Receivers, Processors, Exporters map[string]any
		Service                          struct {
			Pipelines map[string]struct{ Receivers, Processors, Exporters []string }
		}
	}
	if err := yaml.UnmarshalWithOptions(raw, &c, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []string{"traces", "logs", "metrics"} {
		if p := c.Service.Pipelines[signal]; len(p.Processors) == 0 || p.Processors[0] != "memory_limiter" {
			t.Errorf("%s: what bounds the memory must come first: %v", signal, p.Processors)
		}
	}
}

func TestGrafanaFindsSourcesAndDashboards(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("grafana/provisioning/datasources/sources.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool           `yaml:"isDefault"`
			JSONData                     map[string]any `yaml:"jsonData"`
		}
	}
	if err := yaml.UnmarshalWithOptions(raw, &sources, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	p := project(t)
	for _, s := range sources.Datasources {
		host, _, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
		if _, ok := p.Services[host]; !ok || s.UID == "" {
			t.Errorf("%s: at %s there is no service, or it has no uid", s.Name, s.URL)
		}
	}
	home := p.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if home == nil || !slices.ContainsFunc(dashboards.All(), func(d dashboards.Dashboard) bool { return filepath.Base(*home) == d.UID+".json" }) {
		t.Errorf("the first page is of no dashboard")
	}
}

// The image is built from what the program is made of, and from nothing else.
func TestTheImageHasWhatTheProgramIsMadeOf(t *testing.T) {
	t.Parallel()
	ignore, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	dockerfile, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(dockerfile), -1) {
		if from[1] != "scratch" && !pinned.MatchString(from[1]) {
			t.Errorf("FROM %s is not pinned to a version", from[1])
		}
	}
	var taken []string
	for line := range strings.Lines(string(ignore)) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			taken = append(taken, dir)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{join .EmbedFiles \",\"}}{{end}}", "./cmd/sluice")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, embedded, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, ours := strings.CutPrefix(path, "github.com/sluicehq/sluice/")
		if !ours {
			continue
		}
		if !slices.ContainsFunc(taken, func(dir string) bool { return rest == dir || strings.HasPrefix(rest, dir+"/") }) {
			t.Errorf("%s is not in what the image is built from", rest)
		}
		if strings.Contains(embedded, "testdata/") {
			t.Errorf("%s embeds %s, which the image is built without", rest, embedded)
		}
	}
}

// The image says what it is and where it comes from, runs as nobody, and asks its own program for its health.
func TestTheImageIsLabelledAndRunsAsNobody(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, image, ok := strings.Cut(string(raw), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the image is not built from nothing")
	}
	for _, label := range []string{"title", "description", "source", "documentation", "licenses", "version", "revision"} {
		if !regexp.MustCompile(`org\.opencontainers\.image\.` + label + `="[^"]+"`).MatchString(image) {
			t.Errorf("no label org.opencontainers.image.%s", label)
		}
	}
	for _, line := range []string{"CGO_ENABLED=0 ", "\nUSER 65532:65532\n", `CMD ["/sluice", "health"]`, "\nENTRYPOINT [\"/sluice\"]\n"} {
		if !strings.Contains(string(raw), line) {
			t.Errorf("no %q", strings.TrimSpace(line))
		}
	}
}
