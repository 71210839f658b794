// Package webhook tells other programs what happens: CloudEvents 1.0 in JSON, signed as Standard Webhooks say, to the
// addresses that operators have registered. docs/webhooks.md is what a receiver may rely on.
//
// Events wait in the settings' database, so that they survive restarts. Any admin node sends them: a lease gives an
// entry to one of them at a time. Nothing of this is on a visitor's way.
package webhook

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Test is the type of the event that the test button sends.
const Test = "webhook.test"

// ContentType is that of every request: one CloudEvent in structured mode.
const ContentType = "application/cloudevents+json; charset=utf-8"

// Event is something that happened, to be told.
type Event struct {
	ID       string // by which a receiver knows it again; NewID and NameID make them
	Type     string // "queue.activated", …
	Source   string // of which installation; Source makes it
	Subject  string // what it is about: an item, a pattern; "" = nothing in particular
	Time     time.Time
	Sequence int64 // rises with the events of one subject; 0 = it has none
	Data     any
}

// Source names an installation by the id of its database.
func Source(owner string) string { return "urn:sluice:" + owner }

// NewID makes an id that no other event has.
func NewID() string { return "msg_" + rand.Text() }

// NameID gives the id of the event that the words name: the same on every node that tells of it.
func NameID(words ...any) string {
	var b strings.Builder
	for _, w := range words {
		text := fmt.Sprint(w)
		b.WriteString(strconv.Itoa(len(text)) + ":" + text)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "msg_" + base32.StdEncoding.EncodeToString(sum[:])[:26]
}

// envelope is a CloudEvent: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
type envelope struct {
	SpecVersion string `json:"specversion"`
	ID          string `json:"id"`
	Source      string `json:"source"`
	Type        string `json:"type"`
	Subject     string `json:"subject,omitempty"` // may not be empty
	Time        string `json:"time"`
	Sequence    string `json:"sequence,omitempty"` // the extension of this name: compared as text
	ContentType string `json:"datacontenttype"`
	Data        any    `json:"data"`
}

// Body gives the bytes that are sent, the same for each try.
func (e Event) Body() ([]byte, error) {
	env := envelope{
		SpecVersion: "1.0", ID: e.ID, Source: e.Source, Type: e.Type, Subject: e.Subject,
		Time: e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), ContentType: "application/json", Data: e.Data,
	}
	if e.Sequence > 0 {
		env.Sequence = fmt.Sprintf("%020d", e.Sequence)
	}
	b, err := json.Marshal(env)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.Type, err)
	}
	return b, nil
}

// Wants reports whether a webhook that asks for types gets an event; no types = all.
func Wants(types []string, typ string) bool { return len(types) == 0 || slices.Contains(types, typ) }
