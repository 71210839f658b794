package detector

import "github.com/sluicehq/sluice/queue"

// Measures are what a trigger is compared with.
type Measures struct {
	Requests  float64 // checks in the trigger's window
	Newcomers float64 // visitors without a mark in the last minute
	Active    float64 // visitors with a check within the session
}

// NewcomersMS is the window in which newcomers are counted: a minute.
const NewcomersMS = 60_000

// The words for what tripped: the name of the policy field. They stand in Header.By.
const (
	ByRequests  = "trigger_requests"
	ByNewcomers = "trigger_new_visitors_per_minute"
	ByActive    = "trigger_active_users"
)

// Decide reports whether a trigger trips, and which: the first that is reached, in the order above. A trigger of 0 is
// none.
func Decide(t queue.Trigger, m Measures) (by string, tripped bool) {
	switch {
	case reached(t.Requests, m.Requests):
		return ByRequests, true
	case reached(t.NewVisitorsPerMinute, m.Newcomers):
		return ByNewcomers, true
	case reached(t.ActiveUsers, m.Active):
		return ByActive, true
	}
	return "", false
}

// TripOf is what is to be told of a trip by one of the triggers.
func TripOf(t queue.Trigger, m Measures, by string) queue.Trip {
	switch by {
	case ByNewcomers:
		return queue.Trip{Measure: m.Newcomers, Trigger: t.NewVisitorsPerMinute}
	case ByActive:
		return queue.Trip{Measure: m.Active, Trigger: t.ActiveUsers}
	}
	return queue.Trip{Measure: m.Requests, Trigger: t.Requests}
}

func reached(trigger int64, measure float64) bool { return trigger > 0 && measure >= float64(trigger) }

// Low reports whether every set trigger's measure is below trigger × ratio: the traffic half of a release.
func Low(t queue.Trigger, ratio float64, m Measures) bool {
	low := func(trigger int64, measure float64) bool { return trigger <= 0 || measure < float64(trigger)*ratio }
	return low(t.Requests, m.Requests) && low(t.NewVisitorsPerMinute, m.Newcomers) && low(t.ActiveUsers, m.Active)
}

// nearness is how far the measures have come to the closest trigger: 1 = it trips.
func nearness(t queue.Trigger, m Measures) float64 {
	share := func(trigger int64, measure float64) float64 {
		if trigger <= 0 {
			return 0
		}
		return measure / float64(trigger)
	}
	return max(share(t.Requests, m.Requests), share(t.NewVisitorsPerMinute, m.Newcomers), share(t.ActiveUsers, m.Active))
}
