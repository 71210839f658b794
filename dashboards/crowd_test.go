package dashboards

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/demo"
	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/telemetry/series"
	"github.com/sluicehq/sluice/internal/testprogram"
)

// variables are what Grafana puts in the place of a dashboard's variables.
var variables = strings.NewReplacer("$__rate_interval", "5s", "$__interval", "5s", "$job", "sluice", "$item", "sneaker-42")

// TestEveryQueryHasAnAnswer runs each query of each panel, annotation and rule in a real Prometheus that watches a node
// with Redis, while the demo's crowd comes.
func TestEveryQueryHasAnAnswer(t *testing.T) {
	t.Parallel()
	binary := testprogram.Find(t, "prometheus")
	node, ops := serve(t)
	prom := watch(t, binary, ops)
	prom.has(t, asked{expr: series.BuildInfo.Name}) // what happens before the first look is no increase
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = demo.Run(ctx, demo.Options{Out: io.Discard, Against: node}) // cut off when all has been asked
	}()
	defer func() {
		cancel()
		<-over
	}()
	for name, q := range queries(t) {
		t.Run(name, func(t *testing.T) { prom.has(t, q) })
	}
	prom.rulesAreHealthy(t)
}

// asked is a query as Prometheus gets it.
type asked struct{ expr, legend string }

// queries are all that there are, by where they stand.
func queries(t *testing.T) map[string]asked {
	t.Helper()
	all := map[string]asked{"activations": {variables.Replace(activations), "{{cause}}"}}
	for _, d := range All() {
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				for i, q := range p.Queries {
					all[fmt.Sprintf("%s %s %d", d.Title, p.Title, i)] = asked{variables.Replace(q.Expr), q.Legend}
				}
			}
		}
	}
	for _, a := range Alerts() {
		for i, c := range append(append([]Condition{}, a.When...), a.Unless...) {
			all[fmt.Sprintf("%s %s %d", a.Name, a.Window, i)] = asked{expr: c.Expr}
		}
	}
	for _, r := range Recordings() {
		all[r.Record] = asked{expr: r.Expr}
		all[r.Record+" recorded"] = asked{expr: r.Record}
	}
	return all
}

// serve runs a node with a Redis, and gives it and the address of its operations listener.
func serve(t *testing.T) (*demo.Nodes, string) {
	t.Helper()
	f := config.Defaults()
	f.RedisURL, f.DataDir, f.BootstrapAdminToken = redistest.New(t).URL(), t.TempDir(), "dashboards-test"
	for _, at := range []*string{&f.Listen, &f.AdminListen, &f.OpsListen} {
		var err error
		if *at, err = redisserver.FreeAddr(); err != nil {
			t.Fatal(err)
		}
	}
	f.PublicURL = "http://" + f.Listen
	cfg, err := f.Serve()
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), app.Options{Config: cfg, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Log(err)
		}
	})
	shop, err := redisserver.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	return &demo.Nodes{
		Public: f.PublicURL, Admin: "http://" + f.AdminListen, Token: "dashboards-test", ShopListen: shop, ShopURL: "http://" + shop,
		Limit: 100,
	}, f.OpsListen
}

// server is a Prometheus.
type server struct{ url string }

// watch runs a Prometheus that asks a node each second, with the rules.
func watch(t *testing.T, binary, ops string) *server {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("alerts")
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n  - {job_name: sluice, static_configs: [{targets: [%q]}]}\n",
		rules+"/*.yaml", ops)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := redisserver.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	child, err := childproc.Start(exec.Command(binary, "--config.file="+conf, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+at, "--enable-feature=exemplar-storage", "--log.level=warn"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Kill()
		if t.Failed() {
			t.Logf("prometheus: %s", child.Output())
		}
	})
	return &server{"http://" + at}
}

// get asks the API; ok is false while it is not there yet.
func (s *server) get(t *testing.T, path string, into any) (ok bool) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusInternalServerError {
		return false
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", path, resp.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return true
}

var legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)

// has waits until a query has a number in its answer, and looks whether the answer has what the legend shows.
func (s *server) has(t *testing.T, q asked) {
	t.Helper()
	late := time.Now().Add(60 * time.Second)
	for {
		now := time.Now()
		var got struct {
			Data struct {
				Result []struct {
					Metric map[string]string
					Values [][2]any
				}
			}
		}
		path := "/api/v1/query_range?" + url.Values{
			"query": {q.expr}, "start": {unix(now.Add(-60 * time.Second))}, "end": {unix(now)}, "step": {"1"},
		}.Encode()
		if s.get(t, path, &got) {
			for _, series := range got.Data.Result {
				for _, v := range series.Values {
					if text, _ := v[1].(string); text == "NaN" || text == "+Inf" {
						continue
					}
					for _, label := range legendLabel.FindAllStringSubmatch(q.legend, -1) {
						if _, there := series.Metric[label[1]]; !there && label[1] != "route" {
							t.Errorf("the legend %q shows %s, which the answer has not: %v", q.legend, label[1], series.Metric)
						}
					}
					return
				}
			}
		}
		if now.After(late) {
			t.Fatalf("no number within a minute:\n%s\n%v", q.expr, got.Data.Result)
		}
		select {
		case <-t.Context().Done():
			return
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func unix(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// rulesAreHealthy looks whether Prometheus could evaluate each rule.
func (s *server) rulesAreHealthy(t *testing.T) {
	t.Helper()
	var got struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	s.get(t, "/api/v1/rules", &got)
	n := 0
	for _, g := range got.Data.Groups {
		for _, r := range g.Rules {
			if n++; r.Health != "ok" {
				t.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if want := len(Alerts()) + len(Recordings()); n != want {
		t.Errorf("%d rules, want %d", n, want)
	}
}
