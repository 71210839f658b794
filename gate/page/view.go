package page

import (
	"html/template"
	"math"
	"time"
)

// view is a page in words, as the document takes it.
type view struct {
	*Data
	stateWords
	State   string
	Style   template.CSS
	Title   string
	Message string
	Number  string // the place in line, "" = not shown
	Waits   string
	Way     int
	Keep    string
	Waiting bool
	Script  *state // nil: the page does nothing by itself
}

// state is what the page's script begins with.
type state struct {
	Action  string      `json:"action"`
	Reason  string      `json:"reason"`
	Item    string      `json:"item"`
	Self    string      `json:"self"`
	Status  string      `json:"status"`
	Events  string      `json:"events"`
	Left    string      `json:"left"`
	Visitor string      `json:"visitor"`
	Ticket  string      `json:"ticket"`
	After   int64       `json:"after_ms"`
	Keeps   int64       `json:"keeps_ms"`
	Now     int64       `json:"now_ms"`
	Joined  int64       `json:"joined_ms"`
	Opens   int64       `json:"opens_ms"` // 0 = not known
	Until   int64       `json:"until_ms"` // of the pass; 0 = there is none
	Place   int64       `json:"position"` // 0 = not shown
	Way     int         `json:"way"`
	Title   string      `json:"title"` // the operator's, "" = none
	Drawn   bool        `json:"drawn"`
	Tag     string      `json:"tag"`
	Words   scriptWords `json:"words"`
}

// view puts a page into words.
func (p *Pages) view(d *Data) *view {
	w := d.Words
	v := &view{
		Data: d, State: stateOf(d.Action, d.Reason), Style: inScheme(p.style+theme(d.Look.Theme), d.Scheme), Waiting: d.Action == "wait",
		Title: localized(d.Look.Title, w.Lang), Message: localized(d.Look.Message, w.Lang), Way: d.Way(),
	}
	v.stateWords = wordsOf(w, v.State, d.Drawn)
	if v.Title == "" {
		v.Title = v.Heading
	}
	if v.Waiting {
		if d.Position > 0 {
			v.Number = w.Number(float64(d.Position))
		}
		v.Waits = waits(w, d.Eta)
		v.Keep = keeps(w, d.Keeps)
	}
	if d.Sample || d.Refresh == 0 && d.Action != "pass" {
		return v
	}
	v.Script = &state{
		Action: d.Action, Reason: d.Reason, Item: d.Item, Self: d.Self, Status: d.Status, Events: d.Events, Left: d.Left,
		Visitor: d.Visitor, Ticket: d.Ticket, After: d.Refresh.Milliseconds(), Keeps: d.Keeps.Milliseconds(),
		Now: ms(d.Now), Joined: ms(d.JoinedAt), Opens: ms(d.OpensAt), Until: ms(d.PassUntil), Place: d.Position, Way: v.Way, Title: localized(d.Look.Title, w.Lang),
		Drawn: d.Drawn, Tag: Tag(&d.Look), Words: p.script[w.Lang],
	}
	return v
}

// RefreshSeconds is after how many seconds a page without JavaScript comes back; 0 = never.
func (d *Data) RefreshSeconds() int64 {
	if d.Sample {
		return 0
	}
	return int64(math.Ceil(d.Refresh.Seconds()))
}

// Until says how long the pass holds; the script writes the instant in the visitor's own time.
func (v *view) Until() string { return v.Words.Text("turn.until", "time", clock(v.PassUntil)) }

// Opens and Updated are instants for readers without JavaScript, whose time zone nobody knows.
func (v *view) Opens() string   { return v.OpensAt.UTC().Format("2006-01-02 15:04 UTC") }
func (v *view) Updated() string { return clock(v.Now) }

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// localized gives an operator's text in a language, else in English, else none.
func localized(texts map[string]string, lang string) string {
	if t := texts[lang]; t != "" {
		return t
	}
	return texts["en"]
}
