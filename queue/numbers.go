package queue

import (
	"fmt"
	"math"
)

// Number is one number of a policy: what it is called, and what it may be. Forms are made from it, and Validate checks
// by it.
type Number struct {
	Field    string // its name in JSON
	Min, Max float64
	Whole    bool
	Of       func(Policy) float64
	Set      func(*Policy, float64)
}

// Numbers lists the numbers of a policy.
func Numbers() []Number { return numbers }

var numbers = []Number{
	whole("trigger_requests", 1, MaxNumber, func(p *Policy) *int64 { return &p.TriggerRequests }),
	whole("trigger_window_seconds", 1, 600, func(p *Policy) *int64 { return &p.TriggerWindowSeconds }),
	whole("trigger_new_visitors_per_minute", 0, MaxNumber, func(p *Policy) *int64 { return &p.TriggerNewVisitorsPerMinute }),
	whole("trigger_active_users", 0, MaxNumber, func(p *Policy) *int64 { return &p.TriggerActiveUsers }),
	fraction("release_ratio", 0, 1, func(p *Policy) *float64 { return &p.ReleaseRatio }),
	whole("release_after_seconds", 0, 86400, func(p *Policy) *int64 { return &p.ReleaseAfterSeconds }),
	fraction("inflow_per_second", 0, MaxNumber, func(p *Policy) *float64 { return &p.InflowPerSecond }),
	whole("max_active_users", 0, MaxNumber, func(p *Policy) *int64 { return &p.MaxActiveUsers }),
	whole("session_seconds", 30, 86400, func(p *Policy) *int64 { return &p.SessionSeconds }),
	whole("claim_seconds", 10, 3600, func(p *Policy) *int64 { return &p.ClaimSeconds }),
	whole("abandon_seconds", 30, 86400, func(p *Policy) *int64 { return &p.AbandonSeconds }),
	whole("return_seconds", 0, 86400, func(p *Policy) *int64 { return &p.ReturnSeconds }),
	whole("max_waiting", 0, MaxNumber, func(p *Policy) *int64 { return &p.MaxWaiting }),
	whole("poll_budget_per_second", 0, MaxNumber, func(p *Policy) *int64 { return &p.PollBudgetPerSecond }),
}

func whole(field string, lo, hi float64, at func(*Policy) *int64) Number {
	return Number{
		Field: field, Min: lo, Max: hi, Whole: true,
		Of:  func(p Policy) float64 { return float64(*at(&p)) },
		Set: func(p *Policy, v float64) { *at(p) = int64(v) },
	}
}

func fraction(field string, lo, hi float64, at func(*Policy) *float64) Number {
	return Number{
		Field: field, Min: lo, Max: hi,
		Of:  func(p Policy) float64 { return *at(&p) },
		Set: func(p *Policy, v float64) { *at(p) = v },
	}
}

// Fits reports whether a value is in the range.
func (n Number) Fits(v float64) bool {
	return v >= n.Min && v <= n.Max && (!n.Whole || v == math.Trunc(v))
}

// Range says what a value may be.
func (n Number) Range() string {
	kind := "a number"
	if n.Whole {
		kind = "a whole number"
	}
	return fmt.Sprintf("%s from %.10g to %.10g", kind, n.Min, n.Max)
}
