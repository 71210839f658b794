package dashboards

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/telemetry/series"
)

var update = flag.Bool("update", false, "write the files anew")

func files(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, d := range All() {
		out, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		all[d.UID+".json"] = out
	}
	var err error
	if all["alerts/alerts.yaml"], err = AlertsYAML(); err != nil {
		t.Fatal(err)
	}
	if all["alerts/recording.yaml"], err = RecordingYAML(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheFilesAreWhatTheSourceSays(t *testing.T) {
	t.Parallel()
	for name, want := range files(t) {
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
			t.Errorf("%s is not what the source says (%v): go test ./dashboards -update", name, err)
		}
	}
	found, err := filepath.Glob("*.json")
	if err != nil || len(found) != len(All()) {
		t.Errorf("%v, %v: a file without a source", found, err)
	}
}

// grafana is what a test reads of a dashboard's file.
type grafana struct {
	Panels []struct {
		ID          uint32
		Type        string
		Title       string
		Description string
		GridPos     struct{ X, Y, W, H int }
		FieldConfig struct{ Defaults struct{ Unit string } }
		Targets     []struct{ Expr, LegendFormat, RefID string }
		Datasource  struct{ UID string }
	}
	Templating struct{ List []struct{ Name string } }
}

func TestEachDashboardIsLaidOutOnTheGrid(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		out, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var g grafana
		if err := json.Unmarshal(out, &g); err != nil {
			t.Fatal(err)
		}
		taken, ids := map[[2]int]string{}, map[uint32]bool{}
		for _, p := range g.Panels {
			at := p.GridPos
			if at.X < 0 || at.X+at.W > columns || at.W <= 0 || at.H <= 0 {
				t.Errorf("%s, %s: lies outside of 24 columns: %+v", d.UID, p.Title, at)
			}
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					if other, there := taken[[2]int{x, y}]; there {
						t.Fatalf("%s: %s lies over %s", d.UID, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Title == "" {
				t.Errorf("%s: a panel without a title", d.UID)
			}
			if p.Type == "row" {
				continue
			}
			if p.FieldConfig.Defaults.Unit == "" || p.Description == "" || len(p.Targets) == 0 || p.ID == 0 || ids[p.ID] {
				t.Errorf("%s, %s: without a unit, a description, a query or an id of its own", d.UID, p.Title)
			}
			ids[p.ID] = true
			if p.Datasource.UID != "${datasource}" {
				t.Errorf("%s, %s: bound to the data source %s", d.UID, p.Title, p.Datasource.UID)
			}
			for _, q := range p.Targets {
				if q.Expr == "" || q.LegendFormat == "" || !strings.Contains(q.Expr, "$job") {
					t.Errorf("%s, %s, %s: without a legend, or not of the job chosen: %s", d.UID, p.Title, q.RefID, q.Expr)
				}
			}
		}
	}
}

var metricName = regexp.MustCompile(`\bsluice_[a-z_]+`)

func TestQueriesNameMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	known, used := map[string]series.Metric{}, map[string]bool{}
	for _, m := range series.All() {
		for _, name := range []string{m.Name, m.Bucket(), m.Sum(), m.Count()} {
			known[name] = m
		}
	}
	for name, body := range files(t) {
		for _, metric := range metricName.FindAllString(string(body), -1) {
			if _, ok := known[metric]; !ok {
				t.Errorf("%s: there is no %s", name, metric)
			}
			used[known[metric].Name] = true
		}
	}
	for _, m := range series.All() {
		if !used[m.Name] {
			t.Errorf("%s is drawn nowhere, and watched by nothing", m.Name)
		}
	}
}

// What an alert leads to is a page that says what it means, how to see more and what to do; and there is no page else.
func TestEachAlertHasARunbook(t *testing.T) {
	t.Parallel()
	const dir = "../docs/runbooks"
	var want []string
	for _, a := range Alerts() {
		if a.Severity != page && a.Severity != ticket && a.Severity != info || a.Summary == "" {
			t.Errorf("%s: severity %q, summary %q", a.Name, a.Severity, a.Summary)
		}
		body, err := os.ReadFile(filepath.Join(dir, a.Name+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !slices.Contains(want, a.Name+".md") {
			want = append(want, a.Name+".md")
		}
		for _, part := range []string{"# " + a.Name + "\n", "\n## What it means\n", "\n## How to see more\n", "\n## What to do\n"} {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s.md has no %q", a.Name, strings.TrimSpace(part))
			}
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if f.Name() != "README.md" && !slices.Contains(want, f.Name()) {
			t.Errorf("%s is the page of no alert", f.Name())
		}
	}
}
