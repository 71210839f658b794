package webhook

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

// verified checks headers and body with the reference library of Standard Webhooks, and the body with the library of
// CloudEvents.
func verified(secret string, body []byte, h http.Header) error {
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	if err := w.Verify(body, h); err != nil {
		return err
	}
	var e event.Event
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	return e.Validate()
}

func TestTheReferenceLibrariesTakeWhatWeSend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := Event{
			ID: NewID(), Type: rapid.SampledFrom([]string{"queue.activated", "store.down", Test}).Draw(t, "type"), Source: Source("k3q7"),
			Subject: rapid.StringMatching(`[A-Za-z0-9._~:@*-]{0,128}`).Draw(t, "subject"), Time: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0),
			Sequence: rapid.Int64Range(0, 1<<60).Draw(t, "sequence"),
			Data:     map[string]any{"text": rapid.String().Draw(t, "text"), "김": "철수 <b>&"},
		}
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		old, secret := NewSecret(), NewSecret()
		h := http.Header{}
		if err := sign(h, e.ID, time.Now(), body, []string{secret, old}); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{secret, old} {
			if err := verified(s, body, h); err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
		}
		if verified(NewSecret(), body, h) == nil {
			t.Fatal("another secret verifies")
		}
		if changed := append([]byte(" "), body...); verified(secret, changed, h) == nil {
			t.Fatal("another body verifies")
		}
		h.Set("webhook-id", NewID())
		if verified(secret, body, h) == nil {
			t.Fatal("another id verifies")
		}
		var back event.Event
		if err := json.Unmarshal(body, &back); err != nil || back.ID() != e.ID || back.Type() != e.Type || back.Subject() != strings.ToValidUTF8(e.Subject, "\ufffd") ||
			!back.Time().Equal(e.Time) || back.DataContentType() != "application/json" {
			t.Fatalf("%v\n%s\n%s", err, body, back)
		}
	})
}

func TestOldTriesDoNotVerify(t *testing.T) {
	t.Parallel()
	h, secret := http.Header{}, NewSecret()
	body, _ := Event{ID: NewID(), Type: Test, Source: Source("o"), Time: time.Now()}.Body()
	if err := sign(h, "msg_x", time.Now().Add(-6*time.Minute), body, []string{secret}); err != nil {
		t.Fatal(err)
	}
	if verified(secret, body, h) == nil {
		t.Error("a request of six minutes ago verifies")
	}
}

func TestEventsOfOneNameHaveOneID(t *testing.T) {
	t.Parallel()
	a := NameID("queue.activated", "sku-1", 7, 8)
	if a != NameID("queue.activated", "sku-1", 7, 8) || a == NameID("queue.activated", "sku-1", 78) || a == NameID("queue.activated", "sku-17", 8) {
		t.Error(a)
	}
	for _, id := range []string{a, NewID()} {
		if !strings.HasPrefix(id, "msg_") || strings.Contains(id, ".") || len(id) < 26 {
			t.Error(id)
		}
	}
}

func TestSequencesCompareAsText(t *testing.T) {
	t.Parallel()
	sequence := func(n int64) string {
		body, _ := Event{Sequence: n}.Body()
		var e struct{ Sequence string }
		_ = json.Unmarshal(body, &e)
		return e.Sequence
	}
	if a, b := sequence(999), sequence(1_796_000_000_123); a >= b || sequence(0) != "" {
		t.Error(a, b)
	}
}

func TestTriesSpreadOverADay(t *testing.T) {
	t.Parallel()
	for range 200 {
		var all time.Duration
		tries := 1
		for all+Wait(tries) <= Lasts {
			wait := Wait(tries)
			if tries == 1 && (wait < 4*time.Second || wait > 6*time.Second) || wait > mostWait*12/10 {
				t.Fatalf("wait after try %d: %v", tries, wait)
			}
			all += wait
			tries++
		}
		if tries < 11 || tries > 16 {
			t.Fatalf("%d tries in a day", tries)
		}
	}
	waits := map[time.Duration]bool{}
	for range 10 {
		waits[Wait(3)] = true
	}
	if len(waits) < 2 {
		t.Error("no jitter")
	}
}
