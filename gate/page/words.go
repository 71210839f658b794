package page

import (
	"math"
	"time"

	"github.com/sluicehq/sluice/internal/locale"
	"github.com/sluicehq/sluice/queue"
)

// waits puts an estimate into words: a range in minutes, from four hours on in hours.
func waits(w *locale.Words, e queue.Estimate) string {
	if !e.Known {
		return w.Text("wait.unknown")
	}
	low, high := math.Floor(e.Low.Seconds()), math.Ceil(e.High.Seconds())
	if high < 60 {
		return w.Text("wait.soon")
	}
	id, unit := "wait.minutes", 60.0
	if high >= hoursFrom.Seconds() {
		id, unit = "wait.hours", 3600
	}
	from, to := int64(low/unit), int64(math.Ceil(high/unit))
	switch {
	case from == 0 && unit == 60:
		return w.Count("wait.minutes_up_to", to)
	case from >= to:
		return w.Count(id, to)
	default:
		return w.Count(id+"_range", to, "low", from)
	}
}

// hoursFrom is the wait from which minutes say more than anybody knows.
const hoursFrom = 4 * time.Hour

// keeps says for how long the place is kept for one who is not heard of; "" where that is no time worth saying.
func keeps(w *locale.Words, d time.Duration) string {
	if d < time.Minute {
		return ""
	}
	return w.Count("next.keep", int64(d/time.Minute))
}

// stateOf is the key of a state's words: the reason where it has words of its own, else the action.
func stateOf(action, reason string) string {
	switch reason {
	case "prequeue", "paused", "queue_full", "closed":
		return reason
	case "store_down":
		if action == "wait" {
			return reason
		}
	}
	return action
}

// waiting are the states in which a page asks again and goes on by itself.
var waiting = []string{"wait", "prequeue", "paused", "store_down"}

// stateWords are the words of one state.
type stateWords struct {
	Heading string `json:"heading"`
	Line    string `json:"line"`
	Next    string `json:"next"`
}

func wordsOf(w *locale.Words, state string, drawn bool) stateWords {
	s := stateWords{Heading: w.Text("heading." + state), Line: w.Text("line." + state)}
	switch id := "next." + state; {
	case state == "prequeue" && drawn:
		s.Next = w.Text("next.draw")
	case w.Has(id):
		s.Next = w.Text(id)
	}
	return s
}

// scriptWords are those that the page's script goes on with, in one language: the same messages, with {n}, {low} and
// {time} where values go.
type scriptWords struct {
	Lang      string                `json:"lang"`
	Separator string                `json:"separator"` // between thousands
	States    map[string]stateWords `json:"states"`
	Draw      string                `json:"draw"`

	First   string            `json:"first"`
	Say     string            `json:"say"`
	Unknown string            `json:"unknown"`
	Soon    string            `json:"soon"`
	Minutes map[string]string `json:"minutes"`
	UpTo    map[string]string `json:"up_to"`
	Range   map[string]string `json:"range"`
	Hours   map[string]string `json:"hours"`
	HoursTo map[string]string `json:"hours_range"`
	Trouble string            `json:"trouble"`
	Back    string            `json:"back"`
	Turn    string            `json:"turn"`
	Going   string            `json:"going"`
	Until   string            `json:"until"`
	Notice  string            `json:"notice"`
	Granted string            `json:"granted"`
}

func wordsOfScript(w *locale.Words) scriptWords {
	s := scriptWords{
		Lang: w.Lang, States: map[string]stateWords{}, Draw: w.Text("next.draw"),
		First: w.Text("place.next"), Say: w.Text("place.say", "n", "{n}"), Unknown: w.Text("wait.unknown"), Soon: w.Text("wait.soon"),
		Minutes: w.Forms("wait.minutes"), UpTo: w.Forms("wait.minutes_up_to"), Range: w.Forms("wait.minutes_range", "low", "{low}"),
		Hours: w.Forms("wait.hours"), HoursTo: w.Forms("wait.hours_range", "low", "{low}"),
		Trouble: w.Text("trouble"), Back: w.Text("back"), Turn: w.Text("heading.pass"), Going: w.Text("turn.going"),
		Until: w.Text("turn.until", "time", "{time}"), Notice: w.Text("turn.notice"), Granted: w.Text("notify.granted"),
	}
	for _, state := range waiting {
		s.States[state] = wordsOf(w, state, false)
	}
	for _, c := range w.Number(1_000_000) {
		if c < '0' || c > '9' {
			s.Separator = string(c)
			break
		}
	}
	return s
}
