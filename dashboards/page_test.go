package dashboards

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const observability = "../docs/observability.md"

// panels is what a page says of the panels of all dashboards.
func panels() string {
	var b strings.Builder
	for _, d := range All() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| panel | what it means |\n| --- | --- |\n", strings.TrimPrefix(d.Title, "Sluice / "), d.Description)
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				fmt.Fprintf(&b, "| *%s* | %s |\n", p.Title, strings.ReplaceAll(p.Description, "|", `\|`))
			}
		}
	}
	return b.String() + "\n"
}

func TestThePageTellsWhatEachPanelMeans(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(observability)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- panels: written by go test ./dashboards -update -->\n", "<!-- end of panels -->"
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the panels", observability)
	}
	want := before + begin + panels() + end + after
	if *update {
		if err := os.WriteFile(observability, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(raw) != want {
		t.Errorf("%s tells of other panels than there are: go test ./dashboards -update", observability)
	}
}

// What a runbook points to on a dashboard is there, under that title.
func TestRunbooksNamePanelsThatThereAre(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"error": true} // and a status of traces
	for _, d := range All() {
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				known[p.Title] = true
				for _, q := range p.Queries {
					known[q.Legend] = true
				}
			}
		}
	}
	for _, a := range Alerts() {
		body, err := os.ReadFile("../docs/runbooks/" + a.Name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(body), "*") {
			if i%2 == 1 && !known[part] {
				t.Errorf("%s.md names %q, which is on no dashboard", a.Name, part)
			}
		}
	}
}

// From each dashboard one comes to the others and to the traces, and sees where queues were turned on.
func TestDashboardsLeadToEachOtherAndToTraces(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		out, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{`"type": "dashboards"`, `"title": "Traces"`, "/explore?", `"name": "Queues turned on"`, `"name": "datasource"`, `"name": "traces"`, `"name": "job"`} {
			if !strings.Contains(string(out), part) {
				t.Errorf("%s has no %s", d.UID, part)
			}
		}
		if d.Item != strings.Contains(string(out), `"name": "item"`) {
			t.Errorf("%s: a choice of items: %v", d.UID, !d.Item)
		}
	}
}
