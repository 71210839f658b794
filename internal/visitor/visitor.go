// Package visitor is a visitor of the HTTP API, as an app or a script is one: it asks, keeps what it is given, and says
// who it is by headers. The demo's and the benchmark's crowds are made of these.
package visitor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Answer is the part of the answer of check and status that a visitor heeds.
type Answer struct {
	Action string `json:"action"` // pass, wait, reject
	Reason string `json:"reason"`
	Token  string `json:"visitor"`
	Queue  struct {
		State      string `json:"state"`
		Generation int64  `json:"generation"`
		Waiting    int64  `json:"waiting"`
	} `json:"queue"`
	Place *Place `json:"place"`
	Pass  *struct {
		Token string `json:"token"`
	} `json:"pass"`
}

// Place is where the visitor stands.
type Place struct {
	Ticket      string    `json:"ticket"`
	Position    *int64    `json:"position"` // nil = not shown yet
	JoinedAt    time.Time `json:"joined_at"`
	EtaSeconds  *int64    `json:"eta_seconds"` // nil = nobody is let in
	PollAfterMS int64     `json:"poll_after_ms"`
}

// Visitor is one visitor of one item. The zero value with Client and Item set is somebody new. It belongs to one
// goroutine.
type Visitor struct {
	Client *http.Client
	Item   string

	token, ticket, pass string
}

// Check asks a node (http://host:port) whether this visitor may open the item.
func (v *Visitor) Check(ctx context.Context, node string) (Answer, error) {
	return v.ask(ctx, node, "/check")
}

// Status asks where this visitor stands; the first answer with an admission claims it.
func (v *Visitor) Status(ctx context.Context, node string) (Answer, error) {
	return v.ask(ctx, node, "/status")
}

// Finish ends the session: the order is placed.
func (v *Visitor) Finish(ctx context.Context, node string) error {
	_, err := v.do(ctx, http.MethodPost, node, "/finish", http.StatusNoContent)
	return err
}

func (v *Visitor) ask(ctx context.Context, node, path string) (a Answer, err error) {
	body, err := v.do(ctx, http.MethodGet, node, path, http.StatusOK)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	v.token = a.Token
	if a.Place != nil {
		v.ticket = a.Place.Ticket
	}
	if a.Pass != nil {
		v.pass, v.ticket = a.Pass.Token, ""
	}
	return a, nil
}

func (v *Visitor) do(ctx context.Context, method, node, path string, want int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, node+"/v1/items/"+v.Item+path, nil)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Sluice-Visitor": v.token, "Sluice-Ticket": v.ticket, "Sluice-Pass": v.pass} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := v.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		return nil, &StatusError{Status: resp.StatusCode, text: fmt.Sprintf("%s %s: %d: %s", method, path, resp.StatusCode, body)}
	}
	return body, nil
}

// StatusError is an answer of another status than the call has when all is well.
type StatusError struct {
	Status int
	text   string
}

// Error gives the call, the status and the body.
func (e *StatusError) Error() string { return e.text }
