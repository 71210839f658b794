package dashboards

import (
	"fmt"
	"time"

	"github.com/sluicehq/sluice/internal/telemetry/series"
)

// What the alerts are made of.
var (
	byItem = func(m series.Metric) string { return "sum by (item) (" + m.Name + `{item!="_other"})` }
	rising = func(name, span string) string { return "sum(rate(" + name + "[" + span + "]))" }
	isOpen = Condition{byItem(series.QueueState), "==", 2}
	// full is an item with no room inside.
	full = []Condition{
		{"(" + byItem(series.Running) + " + " + byItem(series.Reserved) + ") / (" + byItem(series.MaxActive) + " > 0)", ">=", 0.98},
	}
)

// Alerts lists the alerts.
func Alerts() []Alert {
	const item = `{item="sku-1",job="sluice"}`
	bare := `{job="sluice",instance="a"}`
	flow := func(state, waiting, running, limit, inflow, admitted string) []Series {
		return []Series{
			{series.QueueState.Name + item, state}, {series.Waiting.Name + item, waiting}, {series.Running.Name + item, running},
			{series.Reserved.Name + item, "0x60"}, {series.MaxActive.Name + item, limit}, {series.Inflow.Name + item, inflow}, {series.Admitted.Name + item, admitted},
		}
	}
	checks := func(reason, values string) Series {
		return Series{series.Checks.Name + `{job="sluice",action="pass",reason="` + reason + `"}`, values}
	}
	requests := func(class, values string) Series {
		return Series{series.Requests.Name + `{job="sluice",listener="visitor",route="` + checkRoute + `",class="` + class + `"}`, values}
	}
	eta := func(under, count string) []Series {
		return []Series{{series.EtaError.Bucket() + `{job="sluice",le="-0.35"}`, under}, {series.EtaError.Count() + `{job="sluice"}`, count}}
	}
	onItem := map[string]string{"item": "sku-1"}
	return append([]Alert{
		{
			Name: "SluiceQueueActivated", Severity: info,
			When:    []Condition{{byItem(series.QueueState), ">", 0}},
			Summary: "The queue of {{ $labels.item }} is on.",
			Test:    Test{5 * time.Minute, []Series{{series.QueueState.Name + item, "2x60"}}, []Series{{series.QueueState.Name + item, "0x60"}, {series.QueueState.Name + `{item="_other"}`, "2x60"}}, onItem},
		},
		{
			Name: "SluiceWaitLongerThanPromised", Severity: ticket, For: 5 * time.Minute,
			When:    []Condition{{rising(series.EtaError.Bucket()+`{le="-0.35"}`, "10m") + " / " + rising(series.EtaError.Count(), "10m"), ">", 0.2}},
			Summary: "{{ $value | humanizePercentage }} of those let in waited over a third longer than they were told.",
			Test:    Test{20 * time.Minute, eta("0+30x60", "0+100x60"), eta("0+10x60", "0+100x60"), nil},
		},
		{
			Name: "SluiceInflowOffTarget", Severity: ticket, For: 5 * time.Minute,
			When: []Condition{
				{"abs(sum by (item) (rate(" + series.Admitted.Name + `{item!="_other"}[5m])) / ` + byItem(series.Inflow) + " - 1)", ">", 0.1},
				isOpen,
				{"sum by (item) (min_over_time(" + series.Waiting.Name + `{item!="_other"}[5m]))`, ">", 0},
			},
			Unless:  full,
			Summary: "{{ $labels.item }} lets in {{ $value | humanizePercentage }} more or fewer than the inflow that is set, while people wait.",
			Test: Test{15 * time.Minute,
				flow("2x60", "500x60", "50x60", "0x60", "10x60", "0+300x60"), flow("2x60", "500x60", "200x60", "200x60", "10x60", "0+300x60"), onItem},
		},
		{
			Name: "SluiceMoverStalled", Severity: page, For: 2 * time.Minute,
			When: []Condition{
				{"sum by (item) (rate(" + series.Admitted.Name + `{item!="_other"}[2m]))`, "==", 0},
				isOpen, {byItem(series.Inflow), ">", 0.1}, {byItem(series.Waiting), ">", 0},
			},
			Unless:  full,
			Summary: "Nobody is let in at {{ $labels.item }}, though people wait and there is room.",
			Test: Test{10 * time.Minute,
				flow("2x60", "500x60", "50x60", "0x60", "10x60", "900x60"), flow("3x60", "500x60", "50x60", "0x60", "10x60", "900x60"), onItem},
		},
		{
			Name: "SluiceMoverLate", Severity: ticket, For: 5 * time.Minute,
			When:    []Condition{{"histogram_quantile(0.99, sum by (le) (rate(" + series.MoverLag.Bucket() + "[5m])))", ">", 1}},
			Summary: "Items are stepped {{ $value | humanizeDuration }} later than due: people go in later than they could.",
			Test: Test{15 * time.Minute,
				[]Series{{series.MoverLag.Bucket() + `{le="1"}`, "0+50x60"}, {series.MoverLag.Bucket() + `{le="2.5"}`, "0+100x60"}, {series.MoverLag.Bucket() + `{le="+Inf"}`, "0+100x60"}},
				[]Series{{series.MoverLag.Bucket() + `{le="1"}`, "0+100x60"}, {series.MoverLag.Bucket() + `{le="2.5"}`, "0+100x60"}, {series.MoverLag.Bucket() + `{le="+Inf"}`, "0+100x60"}}, nil},
		},
		{
			Name: "SluiceStoreDown", Severity: page, For: 30 * time.Second,
			When:    []Condition{{series.StoreUp.Name, "==", 0}},
			Summary: "The store does not answer {{ $labels.instance }}: lines stand still, visitors are answered from memory.",
			Test:    Test{5 * time.Minute, []Series{{series.StoreUp.Name + bare, "1 0x60"}}, []Series{{series.StoreUp.Name + bare, "1x3 0 1x60"}}, map[string]string{"instance": "a", "job": "sluice"}},
		},
		{
			Name: "SluiceFailOpen", Severity: page,
			When:    []Condition{{"sum(rate(" + series.Checks.Name + `{action="pass",reason="store_down"}[1m]))`, ">", 0}},
			Summary: "{{ $value | humanize }} visitors a second pass without a queue, because the store is away and their policies fail open.",
			Test:    Test{5 * time.Minute, []Series{checks("store_down", "0+60x60")}, []Series{checks("store_down", "7x60"), checks("queue_off", "0+60x60")}, nil},
		},
		{
			Name: "SluiceErrors", Severity: page, For: 5 * time.Minute,
			When:    []Condition{{`sum(rate(` + series.Requests.Name + `{listener="visitor",class="5xx"}[5m])) / sum(rate(` + series.Requests.Name + `{listener="visitor"}[5m]))`, ">", 0.01}},
			Summary: "{{ $value | humanizePercentage }} of the visitors' requests are answered with 5xx.",
			Test:    Test{15 * time.Minute, []Series{requests("5xx", "0+3x60"), requests("2xx", "0+100x60")}, []Series{requests("5xx", "0+1x60"), requests("2xx", "0+1000x60")}, nil},
		},
		{
			Name: "SluiceClockSkew", Severity: ticket, For: 5 * time.Minute,
			When:    []Condition{{"abs(" + series.ClockSkew.Name + ")", ">", 0.5}},
			Summary: "The clock of {{ $labels.instance }} is {{ $value | humanizeDuration }} off the store's.",
			Test:    Test{10 * time.Minute, []Series{{series.ClockSkew.Name + bare, "-0.7x60"}}, []Series{{series.ClockSkew.Name + bare, "0.3x60"}}, map[string]string{"instance": "a", "job": "sluice"}},
		},
		{
			Name: "SluiceWebhookDeadLetters", Severity: ticket, For: 15 * time.Minute,
			When:    []Condition{{"max(" + series.DeadLetters.Name + ")", ">", 0}},
			Summary: "{{ $value }} messages to webhooks were given up after a day of tries.",
			Test:    Test{20 * time.Minute, []Series{{series.DeadLetters.Name + bare, "3x60"}}, []Series{{series.DeadLetters.Name + bare, "0x60"}}, nil},
		},
		{
			Name: "SluiceKeyEnds", Severity: info,
			When: []Condition{
				{"max(" + series.KeyExpires.Name + ") - time()", "<", 3600}, {"max(" + series.KeyExpires.Name + ")", ">", 0},
			},
			Summary: "A replaced key of passes holds for {{ $value | humanizeDuration }} more; passes that it signed are refused from then on.",
			Test:    Test{50 * time.Minute, []Series{{series.KeyExpires.Name + bare, "6000x60"}}, []Series{{series.KeyExpires.Name + bare, "0x60"}}, nil},
		},
		{
			Name: "SluiceSettingsDiffer", Severity: ticket, For: 2 * time.Minute,
			When:    []Condition{{"max(" + series.SettingsVersion.Name + ") - min(" + series.SettingsVersion.Name + ")", ">", 0}},
			Summary: "Nodes have had different settings for two minutes; a written setting should be everywhere within a second.",
			Test: Test{10 * time.Minute,
				[]Series{{series.SettingsVersion.Name + `{instance="a"}`, "7x60"}, {series.SettingsVersion.Name + `{instance="b"}`, "8x60"}},
				[]Series{{series.SettingsVersion.Name + `{instance="a"}`, "7x60"}, {series.SettingsVersion.Name + `{instance="b"}`, "7x60"}}, nil},
		},
		{
			Name: "SluiceOverload", Severity: ticket, For: 5 * time.Minute,
			When:    []Condition{{rising(series.Shed.Name, "5m") + " + " + rising(series.DroppedCounts.Name, "5m") + " + " + rising(series.DroppedHeartbeats.Name, "5m"), ">", 0}},
			Summary: "Nodes turn away or drop {{ $value | humanize }} requests, counts and heartbeats a second.",
			Test: Test{15 * time.Minute,
				[]Series{{series.Shed.Name, "0+10x60"}, {series.DroppedCounts.Name, "0x60"}, {series.DroppedHeartbeats.Name, "0x60"}},
				[]Series{{series.Shed.Name, "9x60"}, {series.DroppedCounts.Name, "0x60"}, {series.DroppedHeartbeats.Name, "0x60"}}, nil},
		},
		{
			Name: "SluiceSpansDropped", Severity: info, For: 15 * time.Minute,
			When:    []Condition{{rising(series.DroppedSpans.Name, "5m"), ">", 0}},
			Summary: "{{ $value | humanize }} spans a second are dropped: the receiver of traces does not keep up, or is away.",
			Test:    Test{30 * time.Minute, []Series{{series.DroppedSpans.Name + bare, "0+60x60"}}, []Series{{series.DroppedSpans.Name + bare, "60x60"}}, nil},
		},
	}, burns()...)
}

// Objectives, as shares that may go wrong: checks that are answered with 5xx, and checks that take over a tenth of a
// second.
const (
	mayFail = 0.001
	maySlow = 0.01
)

// windows are those of alerts on the burn of an error budget (The Site Reliability Workbook, chapter 5): a budget of
// thirty days that is gone within two days, or five, is worth waking somebody; within ten, or thirty, a ticket.
var windows = []struct {
	short, long string
	factor      float64
	severity    string
}{
	{"5m", "1h", 14.4, page},
	{"30m", "6h", 6, page},
	{"2h", "1d", 3, ticket},
	{"6h", "3d", 1, ticket},
}

func failing(window string) string { return "sluice:checks_failed:ratio_rate" + window }
func slow(window string) string    { return "sluice:checks_slow:ratio_rate" + window }

// Recordings lists the recording rules: a day of rates is slow to ask for each time.
func Recordings() []Recording {
	route := `listener="visitor",route="` + checkRoute + `"`
	var rules []Recording
	known := map[string]bool{} // 6h is in two pairs
	for _, w := range windows {
		for _, window := range []string{w.short, w.long} {
			if known[window] {
				continue
			}
			known[window] = true
			rate := func(name, where string) string { return "sum(rate(" + name + "{" + where + "}[" + window + "]))" }
			rules = append(rules,
				Recording{failing(window), rate(series.Requests.Name, route+`,class="5xx"`) + " / " + rate(series.Requests.Name, route)},
				Recording{slow(window), "1 - " + rate(series.RequestSeconds.Bucket(), route+`,le="0.1"`) + " / " + rate(series.RequestSeconds.Count(), route)})
		}
	}
	return rules
}

// burns are the alerts on the error budgets.
func burns() []Alert {
	var alerts []Alert
	for _, w := range windows {
		for _, o := range []struct {
			name, what string
			ratio      func(string) string
			budget     float64
		}{{"SluiceAvailabilityBurn", "are answered with 5xx", failing, mayFail}, {"SluiceLatencyBurn", "take longer than 0.1 s", slow, maySlow}} {
			limit := w.factor * o.budget
			bad, good := fmt.Sprintf("%gx60", limit*1.5), fmt.Sprintf("%gx60", limit*0.5)
			alerts = append(alerts, Alert{
				Name: o.name, Window: w.long, Severity: w.severity,
				When:    []Condition{{o.ratio(w.short), ">", limit}, {o.ratio(w.long), ">", limit}},
				Summary: "{{ $value | humanizePercentage }} of the checks " + o.what + " (over " + w.short + " and " + w.long + ").",
				Test: Test{10 * time.Minute,
					[]Series{{o.ratio(w.short), bad}, {o.ratio(w.long), bad}}, []Series{{o.ratio(w.short), bad}, {o.ratio(w.long), good}}, map[string]string{"window": w.long}},
			})
		}
	}
	return alerts
}
