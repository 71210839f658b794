package dashboards

import "github.com/sluicehq/sluice/internal/telemetry/series"

// SaleDay is for the day of a sale: what comes when, how many have gathered, how the ramp goes.
func SaleDay() Dashboard {
	return Dashboard{
		UID: "sluice-sale", Title: "Sluice / Sale day", Item: true,
		Description: "A sale from the first who gather to the last in line: countdown, prequeue, ramp, predicted end.",
		Rows: []Row{
			{"Before", []Panel{
				{Title: "Next steps of sales", Shape: Bars, Unit: "dateTimeFromNow", Width: 12, Height: 6,
					Description: "When people begin to gather, when it opens, when it closes. 1970 stands for: no sale is planned.",
					Queries:     []Query{{"max by (item, step) (" + of(series.SaleNext.Name) + ") * 1000", "{{item}} {{step}}"}}},
				{Title: "State", Shape: Big, Unit: "none", Width: 4, Height: 6, Words: stateWords,
					Description: "prequeue: people gather and nobody is let in. open: they are let in at the inflow.",
					Queries:     []Query{{item(series.QueueState), "state"}}, Steps: []Step{{1, orange}, {2, blue}, {3, orange}}},
				{Title: "Gathered", Shape: Big, Unit: "short", Width: 4, Height: 6,
					Description: "Visitors in line: in a prequeue those who are there for the opening.",
					Queries:     []Query{{item(series.Waiting), "waiting"}}},
				{Title: "Served after", Shape: Big, Unit: "s", Width: 4, Height: 6,
					Description: "How long the line that stands now takes to its end at the inflow that is set. After the opening: the predicted end.",
					Queries:     []Query{{item(series.Waiting) + " / " + item(series.Inflow), "from now"}}},
			}},
			{"Opening", []Panel{
				{Title: "The line", Shape: Lines, Unit: "short", Width: 12, Height: 8,
					Description: "Who waits and who is inside. A steep rise before the opening is the prequeue filling.",
					Queries:     []Query{{item(series.Waiting), "waiting"}, {item(series.Running), "running"}}},
				{Title: "Ramp", Shape: Lines, Unit: "cps", Width: 12, Height: 8,
					Description: "The inflow that is set, step by step, and how many are let in. They are one line while people wait and there is room.",
					Queries:     []Query{{item(series.Inflow), "inflow set"}, {perSecond("", series.Admitted.Name, `item="$item"`), "let in"}}},
				{Title: "Arrivals", Shape: Lines, Unit: "cps", Width: 12, Height: 8,
					Description: "New places per second, and checks of the item per second.",
					Queries:     []Query{{perSecond("", series.Joined.Name, `item="$item"`), "join"}, {perSecond("", series.ItemRequests.Name, `item="$item"`), "checks"}}},
				{Title: "Served and lost", Shape: Lines, Unit: "short", Width: 12, Height: 8,
					Description: "Since this node steps the item: who was let in, whose session has ended, who gave up or left, whose admission was not claimed.",
					Queries: []Query{
						{item(series.Admitted), "let in"}, {item(series.Finished), "finished"}, {item(series.Left), "gave up or left"}, {item(series.NoShow), "not claimed"},
					}},
			}},
		},
	}
}
