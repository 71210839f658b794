package dashboards

import "github.com/sluicehq/sluice/internal/telemetry/series"

// Overview answers within a minute what waits, what runs, what arrives and whether the inflow is right.
func Overview() Dashboard {
	return Dashboard{
		UID: "sluice-overview", Title: "Sluice / Overview",
		Description: "What waits, what runs, what arrives, and whether people go in as fast as they should. Start here.",
		Rows: []Row{
			{"Now", []Panel{
				{Title: "Queues on", Shape: Big, Unit: "short", Width: 4, Height: 4,
					Description: "Items whose queue is on. Each is in the list of the Item dashboard.",
					Queries:     []Query{{"sum(" + each(series.QueueState) + " > bool 0)", "queues"}}},
				{Title: "Waiting", Shape: Big, Unit: "short", Width: 4, Height: 4,
					Description: "Visitors in line, all items together.",
					Queries:     []Query{{all(series.Waiting), "waiting"}}},
				{Title: "Inside", Shape: Big, Unit: "short", Width: 4, Height: 4,
					Description: "Visitors who were let in and use the service, and those known to be inside since before their queue went on.",
					Queries:     []Query{{all(series.Running) + " + " + all(series.Reserved), "inside"}}},
				{Title: "Let in per second", Shape: Big, Unit: "cps", Width: 4, Height: 4,
					Description: "Visitors let in per second, all items together.",
					Queries:     []Query{{perSecond("", series.Admitted.Name), "let in"}}},
				{Title: "Checks per second", Shape: Big, Unit: "reqps", Width: 4, Height: 4,
					Description: "How many visitors ask whether they may open an item.",
					Queries:     []Query{{perSecond("", series.Checks.Name), "checks"}}},
				{Title: "Passed without the store", Shape: Big, Unit: "reqps", Width: 4, Height: 4,
					Description: "Visitors who pass because the store is away and their item's policy fails open. Above zero the services behind are not protected.",
					Queries:     []Query{{perSecond("", series.Checks.Name, `action="pass"`, `reason="store_down"`), "fail-open"}}, Steps: []Step{{0.001, red}}},
			}},
			{"Items", []Panel{
				{Title: "Traffic against trigger", Shape: Bars, Unit: "percentunit", Width: 12, Height: 8,
					Description: "Checks within the window as a share of the number that turns the queue on, of the ten items that are nearest to it or past it. Under the release ratio for long enough, the queue goes off by itself.",
					Queries:     []Query{{"topk(10, " + each(series.WindowRequests) + " / " + each(series.TriggerRequests) + ")", "{{item}}"}},
					Steps:       []Step{{0.5, orange}, {1, red}}},
				{Title: "Busiest items", Shape: Lines, Unit: "reqps", Width: 12, Height: 8,
					Description: "Checks per second of the ten busiest items, with a queue or without.",
					Queries:     []Query{{"topk(10, " + perSecond("item", series.ItemRequests.Name) + ")", "{{item}}"}}},
				{Title: "Waiting by item", Shape: Lines, Unit: "short", Width: 12, Height: 8,
					Description: "The ten longest lines. A line that only grows waits for a higher inflow, or for the rush to end.",
					Queries:     []Query{{"topk(10, " + each(series.Waiting) + ")", "{{item}}"}}},
				{Title: "Wait of a newcomer by item", Shape: Lines, Unit: "s", Width: 12, Height: 8,
					Description: "How long one who joins now stands in line: the length of the line by the inflow that is set, without those who give up.",
					Queries:     []Query{{"topk(10, " + each(series.Waiting) + " / " + each(series.Inflow) + ")", "{{item}}"}},
					Steps:       []Step{{600, orange}, {1800, red}}},
			}},
			{"Flow", []Panel{
				{Title: "Answers", Shape: Areas, Unit: "reqps", Width: 12, Height: 8,
					Description: "Checks by what visitors were told and why. Most of the time it is queue_off.",
					Queries:     []Query{{perSecond("action, reason", series.Checks.Name), "{{action}} {{reason}}"}}},
				{Title: "In and out of the lines", Shape: Lines, Unit: "cps", Width: 12, Height: 8,
					Description: "Visitors per second who join, are let in, give up or leave, and finish. Joining above let in makes lines longer.",
					Queries: []Query{
						{perSecond("", series.Joined.Name), "join"}, {perSecond("", series.Admitted.Name), "let in"},
						{perSecond("", series.Left.Name), "give up or leave"}, {perSecond("", series.Finished.Name), "finish"},
					}},
				{Title: "Queues turned on", Shape: Areas, Unit: "short", Width: 12, Height: 6,
					Description: "Queues that went on, by what turned them on: the detector, an operator, a sale, the policy's mode.",
					Queries:     []Query{{"sum by (cause) (increase(" + of(series.Activations.Name) + "[$__rate_interval]))", "{{cause}}"}}},
				{Title: "Told against true wait", Shape: Lines, Unit: "percentunit", Width: 12, Height: 6,
					Description: "How far the waiting time told at joining was off, of half and of nine tenths of those let in. Below zero people wait longer than told. Within ±10 % is as it should be.",
					Queries:     []Query{{quantile(0.5, "", series.EtaError), "median"}, {quantile(0.1, "", series.EtaError), "a tenth waits longer than that"}, {quantile(0.9, "", series.EtaError), "a tenth waits shorter than that"}}},
			}},
		},
	}
}
