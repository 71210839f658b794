package dashboards

import (
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/internal/telemetry/series"
)

// of is a metric of the nodes chosen, with more conditions on its labels.
func of(name string, where ...string) string {
	return name + "{" + strings.Join(append([]string{`job=~"$job"`}, where...), ",") + "}"
}

// item is a metric of the item chosen.
func item(m series.Metric, where ...string) string {
	return "sum(" + of(m.Name, append([]string{`item="$item"`}, where...)...) + ")"
}

// each is a metric of each item that has series of its own, summed over nodes.
func each(m series.Metric) string { return "sum by (item) (" + of(m.Name, `item!="_other"`) + ")" }

// all is a metric summed over items and nodes.
func all(m series.Metric, where ...string) string { return "sum(" + of(m.Name, where...) + ")" }

// perSecond is how fast counters rise, summed by labels ("" = all together).
func perSecond(by, name string, where ...string) string {
	sum := "sum"
	if by != "" {
		sum = "sum by (" + by + ")"
	}
	return sum + " (rate(" + of(name, where...) + "[$__rate_interval]))"
}

// quantile is that of a histogram, by labels beside le ("" = none).
func quantile(q float64, by string, m series.Metric, where ...string) string {
	labels := "le"
	if by != "" {
		labels += ", " + by
	}
	return fmt.Sprintf("histogram_quantile(%g, %s)", q, perSecond(labels, m.Bucket(), where...))
}

// activations are the queues that were turned on within a step.
var activations = "sum by (cause) (increase(" + of(series.Activations.Name) + "[$__interval])) > 0"
