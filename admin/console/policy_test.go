package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	waitpage "github.com/sluicehq/sluice/gate/page"
	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/queue"
)

func TestTwoOperatorsEditOnePolicy(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.policy("edited", map[string]any{"inflow_per_second": 10, "max_waiting": 100, "session_seconds": 60})
	ann, bob := r.as("ann", "operator", browsertest.Options{}), r.as("bob", "operator", browsertest.Options{})
	bob.Pardon("409")
	address := r.console + "/policy?pattern=edited"
	ann.Go(address)
	bob.Go(address)
	ann.Fill("#f-inflow_per_second", "20")
	ann.Fill("#f-max_waiting", "200")
	ann.Click("#save")
	ann.Has("Saved.")
	bob.Fill("#f-inflow_per_second", "30") // ann has changed it too
	bob.Fill("#f-session_seconds", "90")   // and this she has not
	bob.Click("#save")
	bob.Has("Somebody else has saved this meanwhile")
	bob.Has("ann saved it at")
	for selector, want := range map[string]string{
		"[data-theirs=inflow_per_second]": "20", "[data-yours=inflow_per_second]": "30",
	} {
		if got := bob.Text(selector); got != want {
			t.Errorf("%s shows %q; want %q", selector, got, want)
		}
	}
	for field, want := range map[string]string{"inflow_per_second": "30", "session_seconds": "90", "max_waiting": "200"} {
		if got := browsertest.Evaluate[string](bob, fmt.Sprintf("document.getElementById(%q).value", "f-"+field)); got != want {
			t.Errorf("the form holds %s %q; want %q", field, got, want)
		}
	}
	if now := r.api(http.MethodGet, "/policies/edited", nil); now["inflow_per_second"] != 20.0 {
		t.Errorf("bob has overwritten ann's: %v", now)
	}
	bob.Click("#save")
	bob.Has("Saved.")
	now := r.api(http.MethodGet, "/policies/edited", nil)
	if now["inflow_per_second"] != 30.0 || now["session_seconds"] != 90.0 || now["max_waiting"] != 200.0 {
		t.Errorf("in force is %v", now)
	}
}

// How the waiting page will look is shown while the form is filled in, in a frame without rights.
func TestTheWaitingPageIsShownBeforeItIsSaved(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.policy("previewed", map[string]any{"wait_page": map[string]any{"title": map[string]any{"en": "The title before"}, "logo_url": "https://shop.example/logo.png"}})
	p := r.as("mia", "marketer", browsertest.Options{})
	p.Go(r.console + "/policy?pattern=previewed")
	shown := func() string { // what the frame is given for what stands in the form
		return browsertest.Evaluate[string](p, `(form => fetch("/admin/policy/page?pattern=previewed", {method: "POST", body: new URLSearchParams(new FormData(form))})
			.then(r => r.text().then(text => r.headers.get("Content-Security-Policy") + text)))(document.querySelector("iframe").form ?? document.querySelector("iframe").closest("form"))`)
	}
	if page := shown(); !strings.Contains(page, "The title before") || !strings.Contains(page, "1,042") || !strings.Contains(page, "; sandbox") || strings.Contains(page, "logo.png") {
		t.Errorf("the frame shows %s", page)
	}
	if rights := browsertest.Evaluate[string](p, `document.querySelector("iframe").getAttribute("sandbox") + document.querySelector("iframe").sandbox.length`); rights != "0" {
		t.Errorf("the frame has the rights %q", rights)
	}
	browsertest.Evaluate[bool](p, `(window.loads = 0, document.addEventListener("load", e => { if (e.target.name === "preview") loads++ }, true), true)`)
	p.Fill("[id='f-wait_page.title.en']", "Typed, not saved")
	p.Eventually("loads > 0")
	pick(p, "#p-state", "closed")
	pick(p, "#p-lang", "ko")
	pick(p, "#p-scheme", "dark")
	p.Eventually("loads > 1")
	if page := shown(); !strings.Contains(page, "Typed, not saved") || !strings.Contains(page, `lang="ko"`) || !strings.Contains(page, "@media all") {
		t.Errorf("the frame shows %s", page)
	}
	// Every state can be chosen, and is shown in every language, as what the visitor API calls it.
	states := map[string]string{
		"waiting": "wait", "next": "wait", "prequeue": "prequeue", "draw": "prequeue", "paused": "paused", "store_down": "store_down", "again": "wait",
		"full": "queue_full", "closed": "closed", "turn": "pass", "left": "left",
	}
	if got := browsertest.Evaluate[string](p, `[...document.querySelector("#p-state").options].map(o => o.value).join()`); got != strings.Join(waitpage.States(), ",") {
		t.Errorf("the states to choose from are %s", got)
	}
	for _, state := range waitpage.States() {
		for _, lang := range queue.PageLanguages {
			page := browsertest.Evaluate[string](p, fmt.Sprintf(`fetch("/admin/policy/page?pattern=previewed&state=%s&page_lang=%s").then(r => r.text())`, state, lang))
			if !strings.Contains(page, `<html lang="`+lang+`">`) || !strings.Contains(page, `data-state="`+states[state]+`"`) {
				t.Errorf("%s in %s: %.600s", state, lang, page)
			}
		}
	}
	if steps := browsertest.Evaluate[int](p, "history.length"); steps > 2 {
		t.Errorf("looking at it made %d steps of the way back", steps)
	}
	if now := r.api(http.MethodGet, "/policies/previewed", nil); !strings.Contains(fmt.Sprint(now), "The title before") {
		t.Errorf("looking at it has changed the policy: %v", now)
	}
}

// pick sets a field as a person who chooses a date or an entry does.
func pick(p *browsertest.Page, selector, value string) {
	browsertest.Evaluate[bool](p, fmt.Sprintf(`(e => {
		e.value = %q;
		e.dispatchEvent(new Event("input", {bubbles: true}));
		e.dispatchEvent(new Event("change", {bubbles: true}));
		return true;
	})(document.querySelector(%q))`, value, selector))
}
