package queue

import (
	"math"
	"time"
)

// Estimate is how long a visitor will wait, with the band in which the truth falls four times out of five.
type Estimate struct {
	Known           bool // false: nobody is being let in
	Wait, Low, High time.Duration
}

// Flow is what an estimate rests on.
type Flow struct {
	InflowPerSecond float64 // set
	// Turnout is the share of the places ahead that will use up an admission: 1 less those who leave the line before
	// their turn, measured lately. 0 < Turnout <= 1; 0 counts as 1.
	Turnout float64
	// FreedPerSecond is how many slots become free a second where max_active_users is the bound; +Inf or 0 = no bound.
	FreedPerSecond float64
	// Held is how long nobody is let in from now on (after a loss, before a sale opens).
	Held time.Duration
}

// EstimateWait says how long the visitor at a position (1 = next) will wait. Little's law with the set inflow as the
// service rate: the people ahead who will still be there, over the rate at which they go in.
func EstimateWait(position int64, f Flow) Estimate {
	rate := f.InflowPerSecond
	if f.FreedPerSecond > 0 && f.FreedPerSecond < rate {
		rate = f.FreedPerSecond
	}
	if rate <= 0 || position < 1 {
		return Estimate{}
	}
	turnout := f.Turnout
	if turnout <= 0 || turnout > 1 {
		turnout = 1
	}
	s := 1 + float64(position-1)*turnout
	const longest = float64(MaxNumber) // seconds: what is longer is as good as never
	wait := math.Min(s/rate, longest)
	// Whether each of those ahead shows up is a coin toss, so the spread grows with the root of their number; beside
	// it a part for a rate that an operator or a full house may change. Never wider than 35 % of the wait.
	spread := math.Min(0.35*wait, 1.3*math.Sqrt(s)/rate+0.12*wait)
	held := f.Held.Seconds()
	return Estimate{
		Known: true,
		Wait:  seconds(math.Min(held+wait, longest)),
		Low:   seconds(math.Min(held+wait-spread, longest)),
		High:  seconds(math.Min(held+wait+spread, longest)),
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// The bounds of the time between two polls, jitter included.
const (
	leastPoll = time.Second
	mostPoll  = 30 * time.Second
)

// PollAfter says when a visitor should ask again: a tenth of the wait, 1 s to 30 s, never more than a third of
// the abandon time or half of the claim time. crowd stretches it past 30 s: how many times the item's poll budget the
// waiting people would ask for. jitter in [0, 1) spreads it over that part of ±10 % that is within these bounds.
func PollAfter(e Estimate, l Limits, crowd, jitter float64) time.Duration {
	after := float64(mostPoll)
	if e.Known {
		after = min(max(float64(e.Wait)/10, float64(leastPoll)), float64(mostPoll))
	}
	crowd = max(crowd, 1)
	most := float64(min(time.Duration(l.AbandonMS)*time.Millisecond/3, time.Duration(l.ClaimMS)*time.Millisecond/2))
	after = min(after*crowd, most)
	low := max(0.9*after, float64(leastPoll))
	high := min(1.1*after, float64(mostPoll)*crowd, most)
	return time.Duration(low + (high-low)*jitter)
}
