package admin

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// rows asks for the history and gives its rows.
func (f *fixture) rows(query string) []any {
	f.t.Helper()
	return f.do("GET", base+"/activations"+query, "").want(f.t, 200, "").JSON["activations"].([]any)
}

// What turned a queue on, how long its line was and how long people waited.
func TestTheHistoryTellsTheStoryOfAQueue(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		f.follow()
		trip := queue.Trip{Measure: 612, Trigger: 500}
		limits := f.o.Settings.Now().LimitsAt("x", start.UnixMilli())
		report, err := f.line.Switch(t.Context(), "x", queue.SwitchOrder{
			Action: queue.Activate, Limits: limits, Cause: queue.ByDetector, By: "trigger_requests", Trip: trip,
		})
		if err != nil {
			t.Fatal(err)
		}
		h := report.Header // as a gate without the role admin tells it: the header alone
		f.o.Board.Put(h)
		f.o.Events.Publish(Event{Type: QueueActivated, Item: "x", Time: start, Header: &h})
		eventually(t, "the trip", func() bool {
			rows := f.rows("")
			if len(rows) != 1 {
				return false
			}
			row := rows[0].(map[string]any)
			saw, _ := row["trip"].(map[string]any)
			return row["line"] == nil && saw["measure"] == 612.0 && saw["trigger"] == 500.0
		})
		f.join("x", 30)
		for range 8 { // 50 a second
			f.hand.Add(250 * time.Millisecond)
			if _, err := f.line.Step(t.Context(), "x", queue.StepOrder{Limits: limits, Most: 100}); err != nil {
				t.Fatal(err)
			}
		}
		if report, err = f.line.Switch(t.Context(), "x", queue.SwitchOrder{Action: queue.Deactivate, Limits: limits, Cause: queue.ByOperator}); err != nil {
			t.Fatal(err)
		}
		f.o.Board.Put(report.Header)
		f.o.Events.Publish(Event{Type: QueueReleased, Item: "x", Time: f.hand.Now(), Header: &report.Header, Reason: "released"})
		var row map[string]any
		eventually(t, "the story", func() bool { row = f.rows("")[0].(map[string]any); return row["line"] != nil })
		line, books := row["line"].(map[string]any), row["books"].(map[string]any)
		if line["peak_waiting"] != 30.0 || line["longest_wait_ms"].(float64) < 500 || line["median_wait_ms"].(float64) < 250 || books["admitted"] != 30.0 {
			t.Errorf("row %v", row)
		}
	})
}

// A release that happened while no admin node was there.
func TestAnEndThatNobodyToldIsWrittenLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, item := range []queue.Item{"known", "forgotten", "on"} {
		h := queue.Header{Item: item, State: queue.Open, Generation: 5, Version: 1, Cause: queue.ByDetector, ActivatedMS: start.UnixMilli()}
		if item == "known" || item == "on" {
			r, err := f.line.Switch(t.Context(), item, queue.SwitchOrder{Action: queue.Activate, Limits: f.o.Settings.Now().LimitsAt(item, start.UnixMilli()), Cause: queue.ByOperator})
			if err != nil {
				t.Fatal(err)
			}
			h = r.Header
		}
		if _, err := f.store.Change(t.Context(), func(tx *sqlstore.Tx) error { return tx.Activated(h, queue.Trip{}) }); err != nil {
			t.Fatal(err)
		}
	}
	f.join("known", 3)
	if _, err := f.line.Switch(t.Context(), "known", queue.SwitchOrder{Action: queue.Deactivate}); err != nil {
		t.Fatal(err)
	}
	f.hand.Add(2 * time.Minute)
	for range 2 { // twice is as good as once
		if err := f.tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.hand.Add(time.Minute)
	}
	for item, released := range map[string]bool{"known": true, "forgotten": true, "on": false} {
		row := f.rows("?item=" + item)[0].(map[string]any)
		if got := row["released_at"] != nil; got != released || (row["books"] != nil) != (item == "known") ||
			released && (row["reason"] != "unseen" || row["released_at"] != "2026-12-01T11:02:00.000Z") {
			t.Errorf("%s: %v", item, row)
		}
	}
}

func TestHistoryAndAuditAreKeptByAge(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		const many = 1100                          // more than are dropped at once
		for from := 0; from <= many; from += 100 { // many transactions: each has seconds
			if _, err := f.store.Change(t.Context(), func(tx *sqlstore.Tx) error {
				for i := from; i < min(from+100, many+1); i++ {
					at := start.Add(-Kept - time.Second)
					if i == many {
						at = start.Add(-Kept + time.Hour)
					}
					h := queue.Header{Item: "x", Generation: queue.Generation(i + 1), Cause: queue.ByMode, ActivatedMS: at.UnixMilli()}
					if err := tx.Released(h, at.Add(time.Minute), "released", nil); err != nil {
						return err
					}
					if err := tx.Audit(sqlstore.AuditEntry{At: at, Role: sqlstore.Operator, Action: "policy.put", Subject: fmt.Sprint(i)}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows := f.rows(""); len(rows) != 1 || rows[0].(map[string]any)["generation"] != float64(many+1) {
			t.Errorf("%d activations left", len(rows))
		}
		if rows := f.do("GET", base+"/audit", "").JSON["audit"].([]any); len(rows) != 1 {
			t.Errorf("%d audit entries left", len(rows))
		}
	})
}
