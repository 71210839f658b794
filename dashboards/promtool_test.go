package dashboards

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/sluicehq/sluice/internal/testprogram"
)

func TestPromtoolTakesTheRules(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), testprogram.Find(t, "promtool"), "check", "rules", "--lint=all", "--lint-fatal",
		"alerts/alerts.yaml", "alerts/recording.yaml").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each alert fires where it should, and does not where it should not.
func TestEachAlertFiresWhenItShould(t *testing.T) {
	t.Parallel()
	promtool, dir := testprogram.Find(t, "promtool"), t.TempDir()
	bare := Alerts()
	var rules []yaml.MapSlice
	var tests []any
	for _, a := range bare {
		labels := map[string]string{"severity": a.Severity}
		if a.Window != "" {
			labels["window"] = a.Window
		}
		// Without annotations, which promtool would compare by the letter.
		rule := yaml.MapSlice{{Key: "alert", Value: a.Name}, {Key: "expr", Value: a.Expr()}, {Key: "labels", Value: labels}}
		if a.For > 0 {
			rule = append(rule, yaml.MapItem{Key: "for", Value: span(a.For)})
		}
		rules = append(rules, rule)
		if len(a.Test.Fires) == 0 || len(a.Test.Quiet) == 0 {
			t.Errorf("%s: no test", a.Name)
		}
		expected := maps.Clone(labels)
		maps.Copy(expected, a.Test.Labels)
		for _, c := range []struct {
			series []Series
			fires  []any
		}{{a.Test.Fires, []any{map[string]any{"exp_labels": expected}}}, {a.Test.Quiet, []any{}}} {
			var input []any
			for _, s := range c.series {
				input = append(input, map[string]string{"series": s.Name, "values": s.Values})
			}
			tests = append(tests, map[string]any{
				"name": a.Name + " " + a.Window, "interval": "1m", "input_series": input,
				"alert_rule_test": []any{map[string]any{"eval_time": span(a.Test.After), "alertname": a.Name, "exp_alerts": c.fires}},
			})
		}
	}
	write := func(name string, body any) string {
		out, err := yaml.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("rules.yaml", map[string]any{"groups": []any{map[string]any{"name": "alerts", "rules": rules}}})
	file := write("tests.yaml", map[string]any{"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m", "tests": tests})
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
