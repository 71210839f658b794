package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/sitetest"
)

// B122: while the machine sleeps no timer runs. A page that wakes asks once, at once, and shows where things stand by then; it
// does not make up for the polls that it missed, whatever browsers tell it of all at the same time.
func TestAPageThatWakesAsksOnce(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	leave := w.people(t, 5)
	p := w.open(t, browsertest.Options{})
	p.Pardon("Failed to load resource")
	p.Go(w.page())
	shown(p, 6)
	sleep := 12 * time.Second // longer than a page takes for sleep
	if full {
		sleep = 100 * time.Second // nearly as long as silence is allowed
	}
	p.Freeze(true)
	<-time.After(time.Second) // what was on its way arrives
	before := len(w.requests("poll"))
	for _, l := range leave[:3] {
		l()
	}
	<-time.After(sleep)
	if n := len(w.requests("poll")) - before; n != 0 {
		t.Errorf("%d polls in its sleep", n)
	}
	woke := time.Now()
	p.Freeze(false)
	browsertest.Evaluate[bool](p, `(["visibilitychange", "resume"].forEach(name => document.dispatchEvent(new Event(name))),
		dispatchEvent(new Event("online")), dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true})), true)`)
	shown(p, 3)
	<-time.After(time.Until(woke.Add(time.Second)))
	if n := len(w.requests("poll")) - before; n < 1 || n > 2 {
		t.Errorf("%d polls within a second", n)
	}
	if strings.Contains(p.Text("#waits"), "-") || !w.waits(p) {
		t.Errorf("at %s: %s", p.At(), p.Text("main"))
	}
	// Its turn came while it slept, and holds: it goes on at once.
	p.Freeze(true)
	w.Call("PATCH", "/policies/sku-1", `{"claim_seconds": 600}`)
	w.On("sku-1", 100)
	sitetest.Until(t, "its turn has come", func() bool { return strings.Contains(w.live(), `"waiting":0,`) })
	p.Freeze(false)
	inside(p)
}

// A countdown over days says that they are days, in the language of the page.
func TestACountdownNamesItsDays(t *testing.T) {
	t.Parallel()
	w := newWay(t, true)
	w.cutStreams()
	w.gathers(t, "sku-2", time.Now().Add(50*time.Hour))
	for lang, days := range map[string]string{"en": "2 days ", "ko": "2일 ", "de": "2 Tage ", "ja": "2 日 ", "zh": "2天 ", "es": "2 días ", "fr": "2 jours "} {
		p := w.open(t, browsertest.Options{Lang: lang, Width: 360, Height: 740, Phone: true})
		p.Pardon("Failed to load resource")
		p.Go(w.url + "/wait/sku-2")
		p.Eventually(`!document.querySelector("#countdown").hidden`)
		if text := strings.ReplaceAll(p.Text("#countdown"), "\u00a0", " "); !strings.HasPrefix(text, days) || !strings.HasPrefix(text[len(days):], "01:5") {
			t.Errorf("%s: %q", lang, text)
		}
		if wide := browsertest.Evaluate[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
			t.Errorf("%s: %d px too wide", lang, wide)
		}
		p.Accessible()
	}
}
