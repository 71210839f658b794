package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/settings/redissettings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// eventually waits for what another goroutine does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(5 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within 5 s", what)
		}
	}
}

// follow runs the follower for the length of a test.
func (f *fixture) follow() {
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Follow(ctx) }()
	f.t.Cleanup(func() { cancel(); <-done })
}

// invariant live-settings: what another process writes to the database is in force here.
func TestFollowTakesOverWhatOthersWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.follow()
	other := openStore(t, f.dir, nil)
	var plain string
	if _, err := other.Change(t.Context(), func(tx *sqlstore.Tx) (err error) {
		_, plain, err = tx.AddToken("by hand", sqlstore.Viewer, time.Time{})
		p := queue.DefaultPolicy()
		p.InflowPerSecond = 3
		return errors.Join(err, tx.PutPolicy("x", p))
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the policy", func() bool { _, p := f.o.Settings.Now().For("x"); return p.InflowPerSecond == 3 })
	eventually(t, "the token", func() bool { return f.as(plain, "GET", base+"/items", "").Code == 200 })
}

// invariant one-activation: however often it is told, one row; and the books at the end.
func TestHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.follow()
	f.do("POST", base+"/items/x/activate", "").want(t, 200, "")
	f.join("x", 4)
	h := f.o.Board.Get("x")
	for range 3 { // other nodes tell of it too
		f.o.Events.Publish(Event{Type: QueueActivated, Item: "x", Time: start, Header: &h})
	}
	f.hand.Add(time.Minute)
	f.do("POST", base+"/items/x/deactivate", "").want(t, 200, "")
	h = f.o.Board.Get("x")
	f.o.Events.Publish(Event{Type: QueueReleased, Item: "x", Time: start, Header: &h})
	var got answer
	eventually(t, "the release", func() bool {
		got = f.do("GET", base+"/activations?item=x&from=2026-12-01T00:00:00Z", "").want(t, 200, "")
		rows := got.JSON["activations"].([]any)
		return len(rows) == 1 && rows[0].(map[string]any)["released_at"] != nil
	})
	row := got.JSON["activations"].([]any)[0].(map[string]any)
	if row["activated_at"] != "2026-12-01T11:00:00.000Z" || row["released_at"] != "2026-12-01T11:01:00.000Z" || row["reason"] != "deactivated" ||
		row["cause"] != "operator" || row["books"].(map[string]any)["left"] != 4.0 {
		t.Errorf("row %v", row)
	}
	if got := f.do("GET", base+"/activations?to=2026-12-01T00:00:00Z", ""); len(got.JSON["activations"].([]any)) != 0 {
		t.Errorf("before: %s", got.Body)
	}
	f.do("GET", base+"/activations?from=yesterday", "").want(t, 400, "invalid_parameter")
	f.do("GET", base+"/activations?item=a/b", "").want(t, 400, "invalid_item")
	f.do("GET", base+"/activations?cursor=x", "").want(t, 400, "invalid_parameter")
}

func TestHistoryIsWrittenBeforeFollowEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 50 {
		h := queue.Header{Item: queue.Item(fmt.Sprint(i)), State: queue.Open, Generation: 1, Version: 1, Cause: queue.ByDetector, ActivatedMS: 1}
		f.o.Events.Publish(Event{Type: QueueActivated, Item: h.Item, Time: start, Header: &h})
	}
	cancel()
	f.Follow(ctx)
	if got := f.do("GET", base+"/activations", ""); len(got.JSON["activations"].([]any)) != 50 {
		t.Errorf("%d rows", len(got.JSON["activations"].([]any)))
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	server := httptest.NewServer(f.Handler())
	defer server.Close()
	r, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+base+"/events", nil)
	r.Header.Set("Authorization", "Bearer "+f.token(sqlstore.Viewer))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("answered %d %v", resp.StatusCode, resp.Header)
	}
	lines := bufio.NewScanner(resp.Body)
	next := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		return "the end"
	}
	if got := next(); got != "retry: 3000" {
		t.Errorf("first %q", got)
	}
	f.do("POST", base+"/items/x/activate", "").want(t, 200, "")
	if got := next(); got != "event: queue.activated" {
		t.Errorf("got %q", got)
	}
	data := next()
	for _, want := range []string{`"type":"queue.activated"`, `"item":"x"`, `"time":"2026-12-01T11:00:00.000Z"`, `"state":"open"`, `"by":"bootstrap"`} {
		if !strings.Contains(data, want) {
			t.Errorf("%q lacks %s", data, want)
		}
	}
	f.do("PATCH", base+"/policies/x", `{"max_waiting":1}`).want(t, 201, "")
	if got := next() + next(); !strings.Contains(got, "event: policy.changed") || !strings.Contains(got, `"pattern":"x"`) || !strings.Contains(got, `"item":null`) {
		t.Errorf("got %q", got)
	}
	f.o.Events.Close()
	if got := next(); got != "the end" {
		t.Errorf("after the close: %q", got)
	}
}

// A stream ends with the token or the session that it was asked for with.
func TestAStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *Options) { o.Heartbeat = 5 * time.Millisecond })
	server := httptest.NewServer(f.Handler())
	defer server.Close()
	ann := f.user("ann", sqlstore.Viewer)
	made := f.do("POST", base+"/tokens", `{"name":"listener","role":"viewer"}`).want(t, 201, "")
	for _, tc := range []struct{ name, header, value, ends string }{
		{"a token", "Authorization", "Bearer " + made.JSON["token"].(string), "/tokens/" + made.JSON["id"].(string)},
		{"a session", "Cookie", f.signedInAs("ann"), "/users/" + ann},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+base+"/events", nil)
		r.Header.Set(tc.header, tc.value)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() && lines.Text() != ": still here" {
		}
		f.do("DELETE", base+tc.ends, "").want(t, 204, "")
		for lines.Scan() { // to its end
		}
		if err := lines.Err(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		resp.Body.Close()
	}
}

// No field is left out because there is nothing to say.
func TestEventsHaveAllFields(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Event{Type: QueueReleased, Item: "x", Time: start, Header: &queue.Header{Item: "x"}})
	if err != nil || !strings.Contains(string(b), `"books":null`) || !strings.Contains(string(b), `"reason":null`) || !strings.Contains(string(b), `"activated_at":null`) {
		t.Errorf("%s %v", b, err)
	}
}

func TestASlowListenerIsLetGo(t *testing.T) {
	t.Parallel()
	var e Events
	slow, quick := e.subscribe(1), e.subscribe(10)
	for range 3 {
		e.Publish(Event{Type: StoreDown})
	}
	if n := len(quick.C); n != 3 {
		t.Errorf("the quick one got %d", n)
	}
	<-slow.C
	if _, ok := <-slow.C; ok {
		t.Error("the slow one is still there")
	}
	slow.end()
	quick.end()
	quick.end()
}

// published is an Admin whose settings go to Redis.
func published(t *testing.T, r *redistest.Server, prefix string) *fixture {
	t.Helper()
	return newFixture(t, func(o *Options) {
		o.Publisher = redissettings.New(redissettings.Options{Client: r.Client(), Prefix: prefix, Holder: o.Settings})
	})
}

func TestPublish(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	f := published(t, r, "a:")
	there := func() *settings.Settings {
		t.Helper()
		s, ok, err := f.o.Publisher.Load(t.Context())
		if err != nil || !ok {
			t.Fatalf("published: %v %v", ok, err)
		}
		return s
	}
	first := there()
	f.do("PATCH", base+"/policies/x", `{"inflow_per_second":0.1}`).want(t, 201, "")
	if _, p := there().For("x"); p.InflowPerSecond != 0.1 || there().Version() <= first.Version() {
		t.Errorf("published %+v", p)
	}

	// Another database at the same place is refused, with what to do.
	_, err := New(t.Context(), Options{
		Store: openStore(t, t.TempDir(), nil), Settings: new(settings.Holder), Publisher: f.o.Publisher, Line: f.line, Board: new(queue.Board), Log: quiet(),
	})
	if !errors.Is(err, settings.ErrOtherOwner) || !strings.Contains(err.Error(), "--redis-prefix") {
		t.Errorf("another database: %v", err)
	}

	// A database put back from a backup wins over the newer copy.
	newer := settings.New(settings.Data{Version: there().Version() + 1e9, Owner: first.Owner(), Switch: settings.Hold})
	if err := f.o.Publisher.Publish(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	again, err := New(t.Context(), Options{
		Store: f.store, Settings: new(settings.Holder), Publisher: f.o.Publisher, Line: f.line, Board: new(queue.Board), Log: quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := there(); s.Switch() != settings.Normal || s.Version() <= newer.Version() || again.o.Settings.Now().Version() != s.Version() {
		t.Errorf("after the backup: %v %d", s.Switch(), s.Version())
	}

	// With the store away a write stands, and a start is possible.
	r.Kill()
	f.do("PATCH", base+"/policies/y", `{"inflow_per_second":0.2}`).want(t, 201, "")
	if _, err := New(t.Context(), Options{
		Store: f.store, Settings: new(settings.Holder), Publisher: f.o.Publisher, Line: f.line, Board: new(queue.Board), Log: quiet(),
	}); err != nil {
		t.Errorf("a start without the store: %v", err)
	}
}
