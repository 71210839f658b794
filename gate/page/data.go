package page

import (
	"math"
	"time"

	"github.com/sluicehq/sluice/internal/locale"
	"github.com/sluicehq/sluice/queue"
)

// Data is what one visitor's page tells, before it is put into words.
type Data struct {
	Words *locale.Words
	Look  queue.WaitPage // the operator's texts, colours and links
	Nonce string         // of the page's styles and script: another one for each page

	Item   string
	Action string // pass, wait or reject; left: the visitor has given the place up
	Reason string // as the visitor API says
	Drawn  bool   // places are drawn by lot when the queue opens

	// Addresses on this site. Self is the page's own, to which it comes back by itself.
	Self, Status, Events, Leave, Left string

	// Who asks, for the poll of a browser that keeps no cookies; "" where it does.
	Visitor, Ticket string
	Reference       string // by which operators find the visitor, "" = none

	Now       time.Time // of the clock that orders the line
	Position  int64     // 1 = next; 0 = not shown
	Eta       queue.Estimate
	JoinedAt  time.Time
	OpensAt   time.Time     // the zero time: not known
	PassUntil time.Time     // likewise
	Keeps     time.Duration // how long the place outlives silence
	Refresh   time.Duration // ask again after; 0 = never
	Moved     int           // percent of the way that an earlier page showed
	Again     bool          // the place is a new one, in the stead of one that had ended
	Sample    bool          // shows a state to operators: asks nobody, leads nowhere
	Scheme    string        // of a sample: light or dark, whatever the screen likes; "" = as the screen likes
}

// Policy is the content security policy that the page needs: its own styles and script, its own server, the operator's
// logo, and nothing else.
func (d *Data) Policy() string {
	frames, img := "'none'", ""
	if d.Sample {
		frames = "'self'" // the console shows it in a frame
	}
	if d.Look.LogoURL != "" {
		if origin, _, ok := queue.ParseOrigin(d.Look.LogoURL); ok {
			img = "; img-src " + string(origin)
		}
	}
	return "default-src 'none'; connect-src 'self'; style-src 'nonce-" + d.Nonce + "'; script-src 'nonce-" + d.Nonce +
		"'; base-uri 'none'; form-action 'self'; frame-ancestors " + frames + img
}

// Way is the part of the wait that is behind the visitor, in percent: by time, which needs no memory of where the line
// began. It never falls below what an earlier page showed, and says 100 to nobody who waits.
func (d *Data) Way() int {
	if d.Action != "wait" || d.Position == 0 || d.JoinedAt.IsZero() {
		return 0
	}
	way := float64(d.Moved)
	if stood := d.Now.Sub(d.JoinedAt); d.Eta.Known && stood > 0 {
		way = max(way, 100*stood.Seconds()/(stood.Seconds()+d.Eta.Wait.Seconds()))
	}
	return int(max(0, min(99, math.Floor(way))))
}

// Tag changes with what the operator's texts and colours say, so that a page that waits can tell that its own are old.
func Tag(look *queue.WaitPage) string {
	h := newHash()
	for _, s := range []string{look.LogoURL, look.AfterURL} {
		h.add(s)
	}
	for _, texts := range []map[string]string{look.Title, look.Message} {
		for _, lang := range queue.PageLanguages {
			h.add(texts[lang])
		}
	}
	for _, name := range queue.ThemeColours {
		h.add(look.Theme[name])
	}
	return h.String()
}
