package dashboards

import (
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Condition is a query and what it is compared with; Op "" = whatever it gives.
type Condition struct {
	Expr  string
	Op    string
	Limit float64
}

func (c Condition) text() string {
	if c.Op == "" {
		return c.Expr
	}
	return fmt.Sprintf("%s %s %g", c.Expr, c.Op, c.Limit)
}

// Alert is one rule that tells somebody.
type Alert struct {
	Name     string
	When     []Condition // all of them, on the same labels
	Unless   []Condition // none of them
	For      time.Duration
	Window   string // of a burn rate, "" = none: alerts of one name differ by it
	Severity string // page: at once, whatever the hour; ticket: on a working day; info: to know
	Summary  string // one line, with {{ $labels.item }} and {{ $value }}
	Test     Test
}

// Expr is the alert's expression.
func (a Alert) Expr() string {
	parts := make([]string, len(a.When))
	for i, c := range a.When {
		parts[i] = "(" + c.text() + ")"
	}
	expr := strings.Join(parts, "\nand ")
	for _, c := range a.Unless {
		expr += "\nunless (" + c.text() + ")"
	}
	return expr
}

// Recording is a rule that keeps a result under a name, since it would be slow to ask for.
type Recording struct{ Record, Expr string }

// Test says with which series an alert fires and with which it does not, minute by minute in promtool's notation.
type Test struct {
	After        time.Duration // how long it takes
	Fires, Quiet []Series
	Labels       map[string]string // of the alert that fires, beside the severity
}

// Series is one series of a test.
type Series struct{ Name, Values string }

const (
	page   = "page"
	ticket = "ticket"
	info   = "info"
)

// runbooks is where the page of an alert is found.
const runbooks = "https://github.com/sluicehq/sluice/blob/main/docs/runbooks/"

// header stands above what is generated.
const header = "# Written by go test ./dashboards -update from dashboards/*.go. Change those.\n"

// AlertsYAML is the file of alerts as Prometheus reads it.
func AlertsYAML() ([]byte, error) {
	var rules []yaml.MapSlice
	for _, a := range Alerts() {
		rule := yaml.MapSlice{{Key: "alert", Value: a.Name}, {Key: "expr", Value: a.Expr()}}
		if a.For > 0 {
			rule = append(rule, yaml.MapItem{Key: "for", Value: span(a.For)})
		}
		labels := yaml.MapSlice{{Key: "severity", Value: a.Severity}}
		if a.Window != "" {
			labels = append(labels, yaml.MapItem{Key: "window", Value: a.Window})
		}
		rules = append(rules, append(rule,
			yaml.MapItem{Key: "labels", Value: labels},
			yaml.MapItem{Key: "annotations", Value: yaml.MapSlice{
				{Key: "summary", Value: a.Summary}, {Key: "runbook_url", Value: runbooks + a.Name + ".md"},
			}}))
	}
	return groups("sluice-alerts", rules)
}

// RecordingYAML is the file of recording rules as Prometheus reads it.
func RecordingYAML() ([]byte, error) {
	var rules []yaml.MapSlice
	for _, r := range Recordings() {
		rules = append(rules, yaml.MapSlice{{Key: "record", Value: r.Record}, {Key: "expr", Value: r.Expr}})
	}
	return groups("sluice-recording", rules)
}

func groups(name string, rules []yaml.MapSlice) ([]byte, error) {
	out, err := yaml.MarshalWithOptions(yaml.MapSlice{{Key: "groups", Value: []yaml.MapSlice{
		{{Key: "name", Value: name}, {Key: "rules", Value: rules}},
	}}}, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
	return append([]byte(header), out...), err
}

// span is a time as Prometheus writes it.
func span(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }
