// Package page is the waiting page: one HTML document that works without JavaScript and without cookies.
package page

import (
	_ "embed"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var source string

// Parse gives the template; it takes a Data.
func Parse() (*template.Template, error) { return template.New("page").Parse(source) }

// Data is what one visitor's page says.
type Data struct {
	Texts   *Texts
	Nonce   string // of the page's one style and one script
	Item    string
	Action  string // pass, wait or reject
	Reason  string
	Self    string // the page's own address
	Status  string // the address of the poll
	Visitor string // sent as headers with the poll; "" where the browser keeps cookies
	Ticket  string

	Position int64 // 1 = next; 0 = not shown
	EtaKnown bool
	Eta      time.Duration
	OpensAt  time.Time     // the zero time: not known
	Refresh  time.Duration // 0 = the page does not come back by itself

	Title, Message    string // the operator's own, "" = none
	LogoURL, AfterURL string
	Theme             template.CSS
}

// RefreshSeconds is after how many seconds a page without JavaScript comes back; 0 = never.
func (d Data) RefreshSeconds() int64 { return int64(math.Ceil(d.Refresh.Seconds())) }

// Heading is the title of the page.
func (d Data) Heading() string {
	if d.Title != "" {
		return d.Title
	}
	return d.Texts.Heading[d.state()]
}

// Line says in words where the visitor stands.
func (d Data) Line() string {
	switch {
	case d.Action != "wait":
		return d.Texts.Line[d.state()]
	case d.Position == 1:
		return d.Texts.Next
	case d.Position > 1:
		return strings.Replace(d.Texts.Position, "{n}", strconv.FormatInt(d.Position, 10), 1)
	default:
		return d.Texts.Line[d.state()]
	}
}

// Waits says how long it will take, "" where that is not known.
func (d Data) Waits() string {
	if d.Action != "wait" || !d.EtaKnown {
		return ""
	}
	s := int64(math.Ceil(d.Eta.Seconds()))
	if s < 60 {
		return d.Texts.UnderAMinute
	}
	return strings.Replace(d.Texts.Minutes, "{n}", strconv.FormatInt((s+59)/60, 10), 1)
}

// state is the key of the texts: the reason where it has one of its own.
func (d Data) state() string {
	switch d.Reason {
	case "prequeue", "paused", "queue_full", "closed", "store_down":
		return d.Reason
	}
	return d.Action
}
