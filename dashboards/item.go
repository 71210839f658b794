package dashboards

import "github.com/sluicehq/sluice/internal/telemetry/series"

// stateWords are the states of a queue.
var stateWords = map[string]string{"0": "off", "1": "prequeue", "2": "open", "3": "paused", "4": "closed"}

// Item is the story of one item.
func Item() Dashboard {
	admitted := perSecond("", series.Admitted.Name, `item="$item"`)
	return Dashboard{
		UID: "sluice-item", Title: "Sluice / Item", Item: true,
		Description: "One item: its line, who is let in against the inflow that is set, how long people wait, who gives up.",
		Rows: []Row{
			{"Now", []Panel{
				{Title: "State", Shape: Big, Unit: "none", Width: 4, Height: 4, Words: stateWords,
					Description: "State of the queue. Paused and closed let nobody in.",
					Queries:     []Query{{item(series.QueueState), "state"}}, Steps: []Step{{1, orange}, {2, blue}, {3, orange}}},
				{Title: "Waiting", Shape: Big, Unit: "short", Width: 4, Height: 4,
					Description: "Visitors in line.", Queries: []Query{{item(series.Waiting), "waiting"}}},
				{Title: "Inside", Shape: Big, Unit: "short", Width: 4, Height: 4,
					Description: "Visitors let in whose session has not ended, and those reserved: known to be inside from before.",
					Queries:     []Query{{item(series.Running) + " + " + item(series.Reserved), "inside"}}},
				{Title: "Limit inside", Shape: Big, Unit: "short", Width: 4, Height: 4, Words: map[string]string{"0": "none"},
					Description: "Most visitors inside at once, by the policy. With as many inside, people go in only as others leave, whatever the inflow.",
					Queries:     []Query{{item(series.MaxActive), "limit"}}},
				{Title: "Inflow set", Shape: Big, Unit: "cps", Width: 4, Height: 4,
					Description: "Visitors to be let in per second, all nodes together: by the policy, a sale, a ramp or an operator.",
					Queries:     []Query{{item(series.Inflow), "inflow"}}},
				{Title: "Wait of a newcomer", Shape: Big, Unit: "s", Width: 4, Height: 4,
					Description: "The length of the line by the inflow that is set.",
					Queries:     []Query{{item(series.Waiting) + " / " + item(series.Inflow), "wait"}}, Steps: []Step{{600, orange}, {1800, red}}},
			}},
			{"Line", []Panel{
				{Title: "Waiting, running, finished", Shape: Lines, Unit: "short", Width: 12, Height: 8,
					Description: "The three sets: who stands in line, who was let in and is inside, whose session has ended (since this node steps the item).",
					Queries: []Query{
						{item(series.Waiting), "waiting"}, {item(series.Running), "running"}, {item(series.Finished), "finished"}, {item(series.Reserved), "reserved"},
					}},
				{Title: "Let in against the inflow that is set", Shape: Lines, Unit: "cps", Width: 12, Height: 8,
					Description: "While people wait and there is room inside, both lines are one. Below the inflow: no room inside, nobody waits, the queue is paused, or a mover stands still.",
					Queries:     []Query{{item(series.Inflow), "inflow set"}, {admitted, "let in"}, {perSecond("", series.Joined.Name, `item="$item"`), "join"}}},
				{Title: "Traffic against trigger", Shape: Lines, Unit: "short", Width: 12, Height: 8,
					Description: "Checks in the window, all nodes together, and the number that turns the queue on. It goes off once traffic has stayed below the release ratio of it.",
					Queries:     []Query{{item(series.WindowRequests), "in the window"}, {item(series.TriggerRequests), "trigger"}}},
				{Title: "Given up, left, not claimed", Shape: Lines, Unit: "cps", Width: 12, Height: 8,
					Description: "Visitors who were silent too long, who left, and whose admission nobody claimed in time. Many who do not claim: claim time too short, or bots.",
					Queries: []Query{
						{perSecond("", series.Left.Name, `item="$item"`, `reason="abandoned"`), "silent too long"},
						{perSecond("", series.Left.Name, `item="$item"`, `reason="left"`), "left"},
						{perSecond("", series.NoShow.Name, `item="$item"`), "not claimed"},
						{perSecond("", series.Restored.Name, `item="$item"`), "place restored after a loss"},
					}},
			}},
			{"Waiting times, all items together", []Panel{
				{Title: "Wait of those let in", Shape: Lines, Unit: "s", Width: 12, Height: 8,
					Description: "Time from joining to admission of half, nine tenths and 99 in a hundred of those let in.",
					Queries:     []Query{{quantile(0.5, "", series.WaitSeconds), "p50"}, {quantile(0.9, "", series.WaitSeconds), "p90"}, {quantile(0.99, "", series.WaitSeconds), "p99"}}},
				{Title: "Wait of those let in, as a map", Shape: Heat, Unit: "s", Width: 12, Height: 8,
					Description: "How many of those let in had waited how long. Two bands are two groups: a sale's early comers and its late ones, or two items.",
					Queries:     []Query{{"sum by (le) (increase(" + of(series.WaitSeconds.Bucket()) + "[$__rate_interval]))", "{{le}}"}}},
				{Title: "Told against true wait", Shape: Lines, Unit: "percentunit", Width: 12, Height: 8,
					Description: "How far the waiting time told at joining was off. Below zero people wait longer than told. Within ±10 % for the median is as it should be.",
					Queries:     []Query{{quantile(0.5, "", series.EtaError), "median"}, {quantile(0.1, "", series.EtaError), "a tenth waits longer than that"}, {quantile(0.9, "", series.EtaError), "a tenth waits shorter than that"}}},
				{Title: "Told against true wait, as a map", Shape: Heat, Unit: "percentunit", Width: 12, Height: 8,
					Description: "How many were told how wrong a time.",
					Queries:     []Query{{"sum by (le) (increase(" + of(series.EtaError.Bucket()) + "[$__rate_interval]))", "{{le}}"}}},
			}},
		},
	}
}
