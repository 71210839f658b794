package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Shape is how a panel draws.
type Shape string

// The shapes of panels.
const (
	Lines Shape = "timeseries" // over time
	Areas Shape = "areas"      // over time, one above the other
	Big   Shape = "stat"       // the last value, large
	Bars  Shape = "bargauge"   // the last values, as bars
	Heat  Shape = "heatmap"    // a histogram over time
)

// Query is one query of a panel.
type Query struct {
	Expr   string // PromQL, with the dashboard's variables
	Legend string // {{label}} stands for its value
}

// Panel is one picture.
type Panel struct {
	Title       string
	Description string // what it shows, and when to worry
	Shape       Shape
	Unit        string // as Grafana has it
	Width       uint32 // of 24 columns
	Height      uint32
	Queries     []Query
	Steps       []Step            // from which value on it is which color; nil = no color
	Words       map[string]string // what is shown in a value's place
}

// Step is a value from which on a panel has another color.
type Step struct {
	From  float64
	Color string
}

// Colors that people with any kind of color blindness tell apart (Okabe and Ito, 2008). Nothing is told by color alone:
// each line has its name and its last value in the legend.
const (
	blue   = "#0072B2" // as it should be
	orange = "#E69F00" // look closer
	red    = "#D55E00" // vermillion: do something
)

// lineColors are those of lines whose number is known.
var lineColors = []string{blue, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"}

var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

// build makes it as Grafana has it.
func (p Panel) build(at dashboard.GridPos) cog.Builder[dashboard.Panel] {
	var targets []cog.Builder[prometheusQuery]
	for i, q := range p.Queries {
		b := prometheus.NewDataqueryBuilder().Expr(q.Expr).LegendFormat(q.Legend).RefId(string(rune('A' + i))).Datasource(source)
		switch p.Shape {
		case Heat:
			b = b.Range().Format(prometheus.PromQueryFormatHeatmap)
		case Big, Bars:
			b = b.Instant()
		default:
			b = b.Range().Exemplar(true)
		}
		targets = append(targets, b)
	}
	var mappings []dashboard.ValueMapping
	if p.Words != nil {
		words := map[string]dashboard.ValueMappingResult{}
		for value, word := range p.Words {
			words[value] = dashboard.ValueMappingResult{Text: cog.ToPtr(word)}
		}
		mappings = append(mappings, dashboard.ValueMapping{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: words}})
	}
	last := common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})
	switch p.Shape {
	case Big:
		return stat.NewPanelBuilder().Title(p.Title).Description(p.Description).Datasource(source).Unit(p.Unit).GridPos(at).Targets(targets).
			Mappings(mappings).Thresholds(p.thresholds()).ColorScheme(byThreshold()).ReduceOptions(last).
			ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeNone)
	case Bars:
		return bargauge.NewPanelBuilder().Title(p.Title).Description(p.Description).Datasource(source).Unit(p.Unit).GridPos(at).Targets(targets).
			Thresholds(p.thresholds()).ColorScheme(byThreshold()).ReduceOptions(last).
			Orientation(common.VizOrientationHorizontal).DisplayMode(common.BarGaugeDisplayModeBasic).Min(0)
	case Heat:
		return heatmap.NewPanelBuilder().Title(p.Title).Description(p.Description).Datasource(source).Unit(p.Unit).GridPos(at).Targets(targets).
			Calculate(false).Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Viridis").Steps(64)).
			YAxis(heatmap.NewYAxisConfigBuilder().Unit(p.Unit))
	}
	b := timeseries.NewPanelBuilder().Title(p.Title).Description(p.Description).Datasource(source).Unit(p.Unit).GridPos(at).Targets(targets).
		Thresholds(p.thresholds()).LineWidth(2).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).
			Calcs([]string{"lastNotNull", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti))
	if len(p.Steps) > 1 {
		b = b.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	if p.Shape == Areas {
		b = b.FillOpacity(40).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
	} else {
		b = b.FillOpacity(5)
	}
	for i := range p.Queries {
		if len(p.Queries) > 1 && i < len(lineColors) {
			b = b.OverrideByQuery(string(rune('A'+i)), []dashboard.DynamicConfigValue{
				{Id: "color", Value: map[string]any{"mode": "fixed", "fixedColor": lineColors[i]}},
			})
		}
	}
	return b
}

func (p Panel) thresholds() cog.Builder[dashboard.ThresholdsConfig] {
	steps := []dashboard.Threshold{{Color: blue}}
	for _, s := range p.Steps {
		steps = append(steps, dashboard.Threshold{Value: cog.ToPtr(s.From), Color: s.Color})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

func byThreshold() cog.Builder[dashboard.FieldColor] {
	return dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)
}
