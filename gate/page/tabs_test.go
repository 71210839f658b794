package page_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

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

// B106: five tabs that are reloaded every two seconds, and two programs that listen with their cookie, are one person with
// one place; a cookie that is cleared makes a new visitor, at the end, and costs the old one nothing.
func TestManyTabsAndReloadsAreNoRobot(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.people(t, 3)
	first := w.open(t, browsertest.Options{})
	tabs := []*browsertest.Page{first}
	for range 4 {
		tabs = append(tabs, first.Tab())
	}
	rounds := 2
	if full {
		rounds = 60 // two minutes
	}
	for round := range rounds {
		until := time.Now().Add(2 * time.Second)
		for i, tab := range tabs {
			tab.Go(w.page())
			shown(tab, 4)
			if round == 0 && i == 0 {
				sitetest.Until(t, "the browser sends its cookie", func() bool { return w.jar() != "" })
				for range 2 {
					w.listen(t, w.jar())
				}
			}
		}
		<-time.After(time.Until(until))
	}
	if !strings.Contains(w.live(), `"waiting":4,`) {
		t.Errorf("more than one place: %s", w.live())
	}
	old := w.jar()
	first.Forget()
	tabs[2].Go(w.page())
	shown(tabs[2], 5)
	if _, body := sitetest.Get(t, http.DefaultClient, w.Sluice+"/v1/items/sku-1/status", "Cookie", old); !strings.Contains(body, `"position":4,`) {
		t.Errorf("the old place: %s", body)
	}
	w.On("sku-1", 100)
	for _, tab := range tabs {
		inside(tab)
	}
}

// jar is the cookie that a browser sent last.
func (w *way) jar() string {
	all := append(w.requests("page"), w.requests("poll")...)
	last := asking{}
	for _, a := range all {
		if a.jar != "" && a.at.After(last.at) {
			last = a
		}
	}
	return last.jar
}

// listen holds a stream with a browser's cookie until the test ends, or the stream does.
func (w *way) listen(t *testing.T, jar string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Sluice+"/v1/items/sku-1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Cookie", jar)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("a stream: %v %v", resp, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, resp.Body)
	}()
	t.Cleanup(func() { stop(); <-done; resp.Body.Close() })
}

// B115: a browser has six connections to a server over HTTP/1.1. With eight tabs in line each shows its place, and a ninth
// loads; one stream is open at the most.
func TestEightTabsLeaveConnectionsForANinth(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.people(t, 3)
	first := w.open(t, browsertest.Options{})
	tabs := []*browsertest.Page{first}
	for range 7 {
		tabs = append(tabs, first.Tab())
	}
	for _, tab := range tabs {
		tab.Front()
		tab.Go(w.page())
		shown(tab, 4)
		if n := w.openStreams(); n > 1 {
			t.Fatalf("%d streams", n)
		}
	}
	ninth := first.Tab()
	ninth.Allow(strings.TrimPrefix(w.url, "http://"))
	ninth.Front()
	ninth.Go(w.shop)
	shown(ninth, 4)
	sitetest.Until(t, "the one that is looked at holds the stream", func() bool { return w.openStreams() == 1 })
	w.On("sku-1", 100)
	for _, tab := range append(tabs, ninth) {
		inside(tab)
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
