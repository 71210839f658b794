package page_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/sitetest"
)

// wrongClock sets the machine's clock by so many milliseconds.
func wrongClock(ms int64) string {
	return fmt.Sprintf(`(() => {
		const Right = Date;
		window.Date = class extends Right {
			constructor(...all) { if (all.length) { super(...all); } else { super(Right.now() + %d); } }
			static now() { return Right.now() + %[1]d; }
		};
	})();`, ms)
}

// B095: a clock that is wrong, by whatever zone, makes no poll come sooner than told, and counts down to the same instant.
func TestAWrongClockChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		off  time.Duration
		zone string
	}{
		"an hour ahead":  {time.Hour, "Asia/Seoul"},
		"an hour behind": {-time.Hour, "America/New_York"},
		"a day ahead":    {24 * time.Hour, "Pacific/Apia"},
		"a day behind":   {-24 * time.Hour, "UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWay(t, true)
			w.cutStreams()
			opens := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
			w.gathers(t, "sku-2", opens)
			p := w.open(t, browsertest.Options{Zone: c.zone})
			p.Pardon("Failed to load resource")
			p.Before(wrongClock(c.off.Milliseconds()))
			p.Go(w.url + "/wait/sku-2")
			for range 2 {
				before := len(w.requests("poll"))
				sitetest.Until(t, "two polls", func() bool { return len(w.requests("poll")) >= before+2 })
				text := browsertest.Evaluate[string](p, `document.querySelector("#countdown").innerText`)
				left, err := remaining(text)
				if off := left - time.Until(opens); err != nil || off < -2*time.Second || off > 2*time.Second {
					t.Errorf("the page counts %s (%v), the line has %v to go", text, err, time.Until(opens))
				}
			}
			asked := append(w.requests("page"), w.requests("poll")...)
			for i := 1; i < len(asked); i++ {
				if pause, told := asked[i].at.Sub(asked[i-1].at), asked[i-1].after; told < time.Second || pause < told-100*time.Millisecond {
					t.Errorf("asked again after %v, told after %v", pause, told)
				}
			}
		})
	}
}

// gathers has people gather for a sale of an item.
func (w *way) gathers(t *testing.T, item string, opens time.Time) {
	t.Helper()
	w.Call("PATCH", "/policies/"+item, quick)
	w.Call("POST", "/sales", fmt.Sprintf(`{"name": "Drop", "item": %q, "prequeue_at": %q, "opens_at": %q, "time_zone": "UTC"}`,
		item, time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano), opens.UTC().Format(time.RFC3339Nano)))
	sitetest.Until(t, "people gather", func() bool {
		return strings.Contains(w.Call("GET", "/items/"+item, ""), `"state":"prequeue"`)
	})
}

// remaining reads a countdown of hours, minutes and seconds.
func remaining(text string) (time.Duration, error) {
	left := time.Duration(0)
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0, err
		}
		left = left*60 + time.Duration(n)
	}
	return left * time.Second, nil
}

// watched keeps the page's streams where a visitor with the browser's tools has them, and what was global before the page.
const watched = `
	window.sources = [];
	window.EventSource = class extends EventSource { constructor(...all) { super(...all); sources.push(this); } };
	window.globals = Object.getOwnPropertyNames(window);`

// B095: whatever a visitor does with the browser's own tools, the page asks the server, and the server says where the visitor
// stands.
func TestNothingDoneInTheBrowserSkipsTheWait(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.people(t, 3)
	p := w.open(t, browsertest.Options{})
	p.Before(watched)
	p.Allow(strings.TrimPrefix(w.url, "http://"))
	p.Go(w.page())
	shown(p, 4)
	p.Eventually(`sources.length > 0`)
	if added := browsertest.Evaluate[string](p, `Object.getOwnPropertyNames(window).filter(name => name !== "globals" && !globals.includes(name)).join()`); added != "" {
		t.Errorf("the page has functions and values to call and to set: %s", added)
	}
	u, err := url.Parse(w.page())
	if err != nil {
		t.Fatal(err)
	}
	for name, deed := range map[string]string{
		"a place of its own": `document.querySelector("#number").textContent = "1", true`,
		"another state": `document.querySelector("#state").textContent = document.querySelector("#state").textContent.replace('"wait"', '"pass"'),
			document.querySelector("main").dataset.state = "turn", true`,
		"an event of a stream": fmt.Sprintf(`sources.forEach(s => s.dispatchEvent(new MessageEvent("status", {data: %q}))), true`, madeUp),
		"events of all kinds":  `["online", "pageshow", "load", "storage", "focus"].forEach(name => dispatchEvent(new Event(name))), true`,
		"other memories":       `Object.keys(localStorage).forEach(key => localStorage[key] = "1 99"), localStorage["sluice way sku-1"] = "0 100", true`,
	} {
		polls := len(w.requests("poll"))
		browsertest.Evaluate[bool](p, deed)
		sitetest.Until(t, "the page asks", func() bool {
			reconnected(p) // of no effect while it asks
			return len(w.requests("poll")) > polls
		})
		shown(p, 4)
		if !w.waits(p) || w.opened.Load() != 0 {
			t.Errorf("%s: at %s, the shop was opened %d times", name, p.At(), w.opened.Load())
		}
	}
	// Whoever goes on by hand is led back, to the same place.
	pages := len(w.requests("page"))
	browsertest.Evaluate[bool](p, fmt.Sprintf(`(location.href = %q, true)`, u.Query().Get("return")))
	sitetest.Until(t, "back at the page", func() bool { return len(w.requests("page")) > pages })
	shown(p, 4)
	if n := len(w.requests("page")) - pages; n > 2 || w.opened.Load() != 1 {
		t.Errorf("the page was asked for %d times, the shop %d times", n, w.opened.Load())
	}
}
