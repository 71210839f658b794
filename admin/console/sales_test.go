package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
)

// A sale is planned in the console, and happens: people gather, it opens, it closes.
func TestASaleIsPlannedAndHappens(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	p := r.as("mia", "marketer", browsertest.Options{})
	p.Go(r.console + "/sales")
	p.Click("#new-sale")
	p.Has("read here what will happen")
	p.Fill("#f-name", "Ten seconds")
	p.Fill("#f-item", "ten")
	p.Fill("[id='f-overrides.inflow_per_second']", "5")
	wall := func(after time.Duration) string { return time.Now().UTC().Add(after).Format("2006-01-02T15:04:05") }
	pick(p, "#f-time_zone", "UTC")
	pick(p, "#f-closes_at", wall(18*time.Second))
	pick(p, "#f-opens_at", wall(10*time.Second))
	pick(p, "#f-prequeue_at", wall(-time.Second))
	p.Has("The queue turns on as soon as you save") // before it is saved
	p.Has("Opens: 5 people a second are let in.")
	p.Click("#save")
	p.Has("Saved.")
	p.Go(r.console + "/items/ten")
	p.Eventually(`document.querySelector("#item-head .state.prequeue")`)
	p.Eventually(`document.querySelector("#item-sale .state.prequeue")`)
	p.Has("by the sale Ten seconds ·")
	r.join("ten", 30)
	p.Eventually(`document.querySelector("#item-head .state.open")`)
	p.Eventually(`document.querySelector("#item-head .state.closed")`)
	p.Go(r.console + "/sales?q=Ten+seconds")
	p.Eventually(`document.querySelector("tbody .state.over")`)
}

// Of two who edit one sale the second is told, and loses nothing of what was typed.
func TestTwoMarketersEditOneSale(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	id := r.sale("both", 48*time.Hour, map[string]any{"overrides": map[string]any{"inflow_per_second": 10, "max_waiting": 100}})
	mia, tom := r.as("mia", "marketer", browsertest.Options{}), r.as("tom", "marketer", browsertest.Options{})
	tom.Pardon("409")
	mia.Go(r.console + "/sale?id=" + id)
	tom.Go(r.console + "/sale?id=" + id)
	mia.Fill("[id='f-overrides.inflow_per_second']", "20")
	mia.Fill("[id='f-overrides.max_waiting']", "200")
	mia.Click("#save")
	mia.Has("Saved.")
	tom.Fill("[id='f-overrides.inflow_per_second']", "30") // mia has changed it too
	tom.Fill("#f-name", "The sale of both")                // and this she has not
	tom.Click("#save")
	tom.Has("Somebody else has saved this meanwhile")
	tom.Has("mia saved it at")
	for field, want := range map[string]string{"overrides.inflow_per_second": "30", "overrides.max_waiting": "200", "name": "The sale of both"} {
		if got := browsertest.Evaluate[string](tom, fmt.Sprintf("document.getElementById(%q).value", "f-"+field)); got != want {
			t.Errorf("the form holds %s %q; want %q", field, got, want)
		}
	}
	if now := r.api(http.MethodGet, "/sales/"+id, nil); fmt.Sprint(now["overrides"]) != "map[inflow_per_second:20 max_waiting:200]" {
		t.Errorf("tom has overwritten mia's: %v", now)
	}
	tom.Click("#save")
	tom.Has("Saved.")
	if now := r.api(http.MethodGet, "/sales/"+id, nil); fmt.Sprint(now["overrides"]) != "map[inflow_per_second:30 max_waiting:200]" || now["name"] != "The sale of both" {
		t.Errorf("in force is %v", now)
	}
	// Deleted under the form: what was typed stays, and makes a new sale.
	tom.Go(r.console + "/sale?id=" + id)
	tom.Fill("#f-name", "Kept all the same")
	r.api(http.MethodDelete, "/sales/"+id, nil)
	tom.Click("#save")
	tom.Has("Somebody has deleted this sale meanwhile.")
	tom.Click("#save")
	tom.Has("Saved.")
	tom.Has("Kept all the same")
}

// A local time that comes twice, or never, is asked about; the answer holds, also while the form is filled in further.
func TestATimeThatExistsTwiceIsAskedAbout(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	p := r.as("mia", "marketer", browsertest.Options{})
	p.Pardon("400")
	p.Go(r.console + "/sale")
	p.Fill("#f-item", "twice")
	pick(p, "#f-time_zone", "Europe/Berlin")
	pick(p, "#f-opens_at", "2030-10-27T02:30:00")
	p.Has("this time comes twice")
	p.Has("02:30 (UTC+02:00)")
	p.Click("#doubt-opens_at label:last-of-type input")
	p.Eventually(`document.querySelector("#plan .steps b")?.textContent.includes("02:30+01:00")`)
	p.Fill("#f-name", "The second of two")
	p.Eventually(`document.querySelector("#doubt-opens_at label:last-of-type input").checked`)
	p.Click("#save")
	p.Has("Saved.")
	id := strings.TrimSuffix(p.At()[strings.Index(p.At(), "id=")+3:], "&done=saved")
	if made := r.api(http.MethodGet, "/sales/"+id, nil); made["opens_at"] != "2030-10-27T01:30:00.000Z" {
		t.Errorf("it opens at %v", made["opens_at"])
	}
	p.Eventually(`document.querySelector("#doubt-opens_at label:last-of-type input").checked`)
	pick(p, "#f-opens_at", "2030-03-31T02:30:00")
	p.Has("this time does not exist")
	pick(p, "#f-opens_at", "2030-04-01T02:30:00")
	p.Eventually(`!document.querySelector("#doubt-opens_at fieldset")`)
	// What is wrong is told at its field.
	pick(p, "#f-closes_at", "2030-04-01T02:00:00")
	p.Eventually(`document.querySelector("#plan a[href='#f-closes_at']")`)
	p.Click("#save")
	p.Eventually(`document.getElementById("f-closes_at").getAttribute("aria-invalid") === "true"`)
	p.Has("Must be after the opening.")
}

// B097: what an edit does to people who have gathered is said before it is saved, and is what happens.
func TestARunningSaleIsEditedAndDeleted(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	at := func(after time.Duration) string { return time.Now().UTC().Add(after).Format("2006-01-02T15:04:05") }
	id := r.sale("gathering", time.Hour, map[string]any{"prequeue_at": at(-time.Second) + "Z", "closes_at": nil})
	p := r.as("mia", "marketer", browsertest.Options{})
	p.Go(r.console + "/items/gathering")
	p.Eventually(`document.querySelector("#item-head .state.prequeue")`)
	r.join("gathering", 7)
	p.Eventually(`document.querySelector("[data-tile=waiting]").textContent === "7"`)
	p.Go(r.console + "/sale?id=" + id)
	pick(p, "#f-opens_at", at(3*time.Hour))
	p.Has("7 people have gathered and keep their places.")
	p.Click("#save")
	p.Has("Saved.")
	p.Go(r.console + "/items/gathering")
	p.Eventually(`document.querySelector("#item-head .state.prequeue") && document.querySelector("[data-tile=waiting]").textContent === "7"`)
	p.Go(r.console + "/sale?id=" + id)
	p.Click("#delete-sale")
	p.Has("Then the queue is off.")
	p.Click("#dialog [data-confirm]")
	p.Has("The sale has been deleted.")
	p.Go(r.console + "/items/gathering")
	p.Eventually(`document.querySelector("#item-head .state.off")`)
}

// Where the server cannot tell what would happen, the form says so in the place of it, and stays as it is.
func TestAPreviewThatFailsLeavesTheForm(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	made := r.api(http.MethodPost, "/tokens", map[string]any{"name": "mia", "role": "marketer"})
	p := r.open(made["token"].(string), browsertest.Options{})
	p.Pardon("401")
	p.Go(r.console + "/sale")
	p.Fill("#f-name", "Typed before")
	r.api(http.MethodDelete, fmt.Sprintf("/tokens/%s", made["id"]), nil)
	p.Fill("#f-item", "unseen")
	p.Has("What would happen cannot be told now. Please sign in.")
	if got := browsertest.Evaluate[string](p, `document.querySelectorAll("#plan").length + " " + document.querySelectorAll("h1").length + " " + document.getElementById("f-name").value`); got != "1 1 Typed before" {
		t.Errorf("the page has %q", got)
	}
}

// What stands against a sale is said in the reader's language.
func TestRefusalsAreInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.sale("clash", 48*time.Hour, map[string]any{"name": "Winter"})
	r.policy("never-on", map[string]any{"mode": "off"})
	p := r.as("mina", "marketer", browsertest.Options{Lang: "ko", Zone: "Asia/Seoul"})
	p.Pardon("409")
	p.Go(r.console + "/sale")
	p.Fill("#f-name", "Again")
	pick(p, "#f-time_zone", "UTC")
	pick(p, "#f-opens_at", time.Now().UTC().Add(48*time.Hour).Format("2006-01-02T15:04:05"))
	p.Fill("#f-item", "clash")
	p.Has("같은 항목의 판매 Winter이(가)")
	p.Click("#save")
	p.Eventually(`document.getElementById("e-opens_at")?.textContent.includes("Winter")`)
	p.Fill("#f-item", "never-on")
	p.Eventually(`document.querySelector("#plan .fault")?.textContent.includes("정책이 이 대기열을 고정합니다")`)
}

// The calendar shows a month's openings in the reader's zone, each a link.
func TestTheCalendarShowsTheMonthInTheReadersZone(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.api(http.MethodPut, "/sales/late", map[string]any{
		"name": "Late in New York", "item": "late", "time_zone": "America/New_York", "opens_at": "2031-05-10T22:00:00", "closes_at": "2031-05-10T23:00:00", "repeat": "0 22 * * 6",
	})
	p := r.as("vic", "viewer", browsertest.Options{Zone: "Asia/Seoul"})
	p.Go(r.console + "/sales") // writes the zone
	p.Go(r.console + "/sales/calendar?month=2031-05")
	p.Has("May 2031")
	days := `[...document.querySelectorAll(".cal > li:has(a[href$='id=late'])")].map(e => e.querySelector("time").dateTime)`
	if got := browsertest.Evaluate[[]string](p, days); fmt.Sprint(got) != "[2031-05-11 2031-05-18 2031-05-25 2031-06-01]" { // Saturday evening there is Sunday morning here
		t.Errorf("it opens on %v", got)
	}
	if text := p.Text(".cal a[href$='id=late']"); !strings.HasPrefix(text, "11:00") {
		t.Errorf("the calendar shows %q", text)
	}
	p.Click("#next")
	p.Has("June 2031")
	p.Click("#before")
	p.Has("May 2031")
	p.Click(".cal a[href$='id=late']")
	p.Has("Late in New York")
}
