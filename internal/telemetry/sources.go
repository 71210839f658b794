package telemetry

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicehq/sluice/internal/telemetry/series"
)

// sources shows what other parts keep.
type sources struct{ Sources }

// saleSteps are the steps of a sale that are waited for.
var saleSteps = []string{"prequeue", "open", "close"}

// Describe says nothing: what is shown is known only when somebody asks.
func (s sources) Describe(chan<- *prometheus.Desc) {}

// Collect reads what other parts keep.
func (s sources) Collect(to chan<- prometheus.Metric) {
	show := func(m series.Metric, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc(m), kindOf(m), v, labels...)
	}
	up, open := 0.0, 1.0
	if s.StoreUp() {
		up, open = 1, 0
	}
	show(series.StoreUp, up)
	show(series.Breaker, open)
	show(series.ClockSkew, s.ClockSkew().Seconds())
	show(series.SettingsVersion, float64(s.SettingsVersion()))
	show(series.Queues, float64(s.Queues()))
	show(series.Streams, float64(s.Streams()))
	show(series.DroppedCounts, float64(s.DroppedCounts()))
	show(series.DroppedHeartbeats, float64(s.DroppedBeats()))
	show(series.DroppedSpans, float64(s.DroppedSpans()))
	show(series.Unreplicated, float64(s.Unreplicated()))
	var dead int64
	if s.DeadLetters != nil {
		dead = s.DeadLetters()
	}
	show(series.DeadLetters, float64(dead))
	var ends float64
	if t := s.KeyEnds(); !t.IsZero() {
		ends = float64(t.Unix())
	}
	show(series.KeyExpires, ends)
	due := s.Sales()
	for _, d := range due {
		show(series.SaleNext, float64(d.At.UnixMilli())/1000, d.Item, d.Step)
	}
	if len(due) == 0 {
		for _, step := range saleSteps {
			show(series.SaleNext, 0, series.OtherItem, step)
		}
	}
	show(series.BuildInfo, 1, Version(), runtime.Version(), revision())
}

// revision is the commit that the program was built from, "" where the build does not know.
func revision() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	var rev, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	return strings.TrimSpace(rev + dirty)
}
