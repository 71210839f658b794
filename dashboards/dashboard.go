//lint:file-ignore SA1019 The classic form of a dashboard is what every Grafana since 10 provisions from a file; the form that the SDK prefers needs 12.

package dashboards

import (
	"encoding/json"
	"net/url"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"

	"github.com/sluicehq/sluice/internal/telemetry/series"
)

type prometheusQuery = variants.Dataquery

// Dashboard is one dashboard.
type Dashboard struct {
	UID, Title, Description string
	Item                    bool // it is about the item chosen
	Rows                    []Row
}

// Row is a part of a dashboard, under a heading.
type Row struct {
	Title  string
	Panels []Panel
}

// All lists the dashboards.
func All() []Dashboard { return []Dashboard{Overview(), Item(), SaleDay(), Service()} }

const columns = 24

// JSON is the dashboard as Grafana reads it.
func (d Dashboard) JSON() ([]byte, error) {
	b := dashboard.NewDashboardBuilder(d.Title).Uid(d.UID).Description(d.Description).Tags([]string{"sluice"}).
		Timezone("browser").Time("now-30m", "now").Refresh("10s").Tooltip(dashboard.DashboardCursorSyncCrosshair).Readonly().
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(dashboard.NewDatasourceVariableBuilder("traces").Label("Traces").Type("jaeger")).
		WithVariable(d.choice("job", "Job", series.BuildInfo.Name, "").Multi(true).IncludeAll(true).AllValue(".+"))
	if d.Item {
		b = b.WithVariable(d.choice("item", "Item", series.QueueState.Name, `/^(?!_other$).*/`).AllowCustomValue(true))
	}
	b = b.Annotation(dashboard.NewAnnotationQueryBuilder().Name("Queues turned on").Datasource(source).Enable(true).IconColor(orange).
		Expr(activations).TitleFormat("Queue turned on").TextFormat("by the {{cause}}").
		Target(prometheus.NewDataqueryBuilder().Expr(activations).RefId("Anno").Datasource(source)))
	b = b.Link(dashboard.NewDashboardLinkBuilder("Sluice").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"sluice"}).
		AsDropdown(false).IncludeVars(true).KeepTime(true)).
		Link(dashboard.NewDashboardLinkBuilder("Traces").Type(dashboard.DashboardLinkTypeLink).Icon("external link").Url(tracesURL()).
			Tooltip("Traces of the service in this time").TargetBlank(true).KeepTime(true))
	var y uint32
	for _, row := range d.Rows {
		b = b.WithRow(dashboard.NewRowBuilder(row.Title).GridPos(dashboard.GridPos{H: 1, W: columns, Y: y}))
		y++
		var x, height uint32
		for _, p := range row.Panels {
			if x+p.Width > columns {
				x, y, height = 0, y+height, 0
			}
			b = b.WithPanel(p.build(dashboard.GridPos{X: x, Y: y, W: p.Width, H: p.Height}))
			x, height = x+p.Width, max(height, p.Height)
		}
		y += height
	}
	built, err := b.Build()
	if err != nil {
		return nil, err
	}
	for i := range built.Panels {
		if p := built.Panels[i].Panel; p != nil {
			p.Id = cog.ToPtr(uint32(i + 1)) // links and alerts name a panel by it
		}
	}
	out, err := json.MarshalIndent(built, "", "  ")
	return append(out, '\n'), err
}

// choice is a variable whose values are those of a label.
func (d Dashboard) choice(label, title, metric, pattern string) *dashboard.QueryVariableBuilder {
	query := "label_values(" + metric + ", " + label + ")"
	return dashboard.NewQueryVariableBuilder(label).Label(title).Datasource(source).Query(dashboard.StringOrMap{String: cog.ToPtr(query)}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).Regex(pattern)
}

// tracesURL leads to the traces of the service, in the data source that is chosen for them.
func tracesURL() string {
	panes := `{"t":{"datasource":"${traces}","queries":[{"refId":"A","queryType":"search","service":"sluice"}],"range":{"from":"${__from}","to":"${__to}"}}}`
	return "/explore?schemaVersion=1&panes=" + url.QueryEscape(panes)
}
