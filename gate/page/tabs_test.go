package page_test

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/sitetest"
)

// reports tells the test of the title of the turn, and of notifications in place of showing them.
const reports = `
	const report = what => fetch("/seen?what=" + encodeURIComponent(what), {keepalive: true});
	window.Notification = class {
		static permission = "granted";
		static requestPermission() { return Promise.resolve("granted"); }
		constructor(title, options) { report("notice: " + title + " / " + options.body); }
	};
	let told = false;
	new MutationObserver(() => {
		if (!told && document.title.startsWith("★")) { told = true; report("title: " + document.title + (document.hidden ? " (hidden)" : "")); }
	}).observe(document, {subtree: true, childList: true, characterData: true});`

// B106, B115, B121: tabs of one person show one place, which no reload and no way back makes worse; of all tabs one holds a
// stream, and a hidden one holds none; a hidden tab tells of the turn in its title and by a notification for those who asked,
// and all tabs go on to the shop.
func TestTabsOfOnePersonShareThePlace(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.people(t, 3)
	hidden := w.open(t, browsertest.Options{})
	hidden.Before(reports)
	hidden.Go(w.page())
	shown(hidden, 4)
	hidden.Click("#notify")
	hidden.Eventually(`!document.querySelector("#notified").hidden`)
	tabs := []*browsertest.Page{hidden.Tab(), hidden.Tab()}
	for _, tab := range tabs {
		tab.Go(w.page())
		shown(tab, 4)
	}
	front := tabs[1]
	front.Front()
	front.Pardon("favicon.ico")
	hidden.Eventually(`document.hidden`)
	front.Eventually(`!document.hidden`)
	sitetest.Until(t, "one tab holds a stream", func() bool { return w.openStreams() == 1 })
	front.Go(w.url + "/openapi.json")
	sitetest.Until(t, "hidden tabs hold no stream", func() bool { return w.openStreams() == 0 })
	browsertest.Evaluate[bool](front, `(history.back(), true)`)
	for _, tab := range append(tabs, hidden) {
		shown(tab, 4)
	}
	if live := w.Call("GET", "/items/sku-1", ""); !strings.Contains(live, `"waiting":4`) {
		t.Errorf("more than one place: %s", live)
	}
	w.On("sku-1", 100)
	for _, tab := range append(tabs, hidden) {
		tab.Eventually(`document.querySelector("#shop")?.innerText === "Welcome to sku-1"`)
	}
	for _, what := range []string{"title: ★ It is your turn (hidden)", "notice: It is your turn / It is your turn. Come back to the page to go on."} {
		if !w.reported(what) {
			t.Errorf("not reported: %s (but %q)", what, w.seen)
		}
	}
}

// A stream that is cut, as by a proxy that lets none through, costs nothing: the page polls, and says nothing of it.
func TestAPageWhoseStreamIsCutPolls(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	leave := w.people(t, 3)
	p := w.open(t, browsertest.Options{})
	p.Pardon("Failed to load resource")
	p.Go(w.page())
	shown(p, 4)
	sitetest.Until(t, "the page holds a stream", func() bool { return w.openStreams() == 1 })
	leave[0]()
	shown(p, 3)
	w.cutStreams()
	leave[1]()
	shown(p, 2)
	if browsertest.Evaluate[bool](p, `!document.querySelector("#trouble").hidden`) {
		t.Error("the page speaks of trouble")
	}
}

// Support finds a visitor by the reference that the page shows.
func TestSupportFindsTheVisitorByTheReferenceOfThePage(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.people(t, 2)
	_, body := sitetest.Get(t, sitetest.Browser(nil), w.page())
	_, rest, _ := strings.Cut(body, `<span class="reference">`)
	ref, _, _ := strings.Cut(rest, "<")
	if got := w.Call("GET", "/items/sku-1/visitors?ref="+ref, ""); len(ref) != 8 || !strings.Contains(got, `"position":3`) {
		t.Errorf("reference %q: %s", ref, got)
	}
}
