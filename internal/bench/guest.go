package bench

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/internal/visitor"
)

// guest is an actor who wants to see an item: checks, polls as told while in line, looks around inside, and goes.
type guest struct {
	host, item string
	patience   time.Duration // in line; 0 = without end
	visits     int           // checks after having been let in
	pause      time.Duration // between these
	finishes   bool          // says so at the end

	token, ticket, pass string
	method, path        string // of the next request
	waited              time.Duration
}

func (g *guest) ask() []byte {
	if g.path == "" {
		g.method, g.path = http.MethodGet, "/check"
	}
	return load.Request(g.method, g.host, "/v1/items/"+g.item+g.path,
		"Sluice-Visitor", g.token, "Sluice-Ticket", g.ticket, "Sluice-Pass", g.pass)
}

func (g *guest) got(r load.Response) (time.Duration, bool) {
	var a visitor.Answer
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &a) != nil {
		return 0, false // finished, or refused: counted by the stage
	}
	g.token = a.Token
	switch {
	case a.Action == "wait" && a.Place != nil:
		g.ticket = a.Place.Ticket
		after := time.Duration(a.Place.PollAfterMS) * time.Millisecond
		if g.waited += after; g.patience > 0 && g.waited > g.patience {
			return 0, false // closes the page: the line finds out by the silence
		}
		g.path = "/status"
		return after, true
	case a.Action != "pass":
		return 0, false
	}
	if a.Pass != nil {
		g.pass, g.ticket = a.Pass.Token, ""
	}
	if g.visits > 0 {
		g.visits--
		g.path = "/check"
		return g.pause, true
	}
	if g.finishes && g.pass != "" {
		g.finishes = false
		g.method, g.path = http.MethodPost, "/finish"
		return g.pause, true
	}
	return 0, false
}
