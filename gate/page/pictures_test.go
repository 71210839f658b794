package page_test

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicehq/sluice/gate/page"
	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/queue"
)

func TestMain(m *testing.M) {
	// Most of a test's time a page waits for its next poll: more of them at once than there are processors.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	browsertest.Main(m)
}

var pictures = flag.String("pictures", "", "write a picture of each state into this folder")

// gallery serves every state under ?state=&lang=&look=.
func gallery(t *testing.T, looks map[string]queue.WaitPage) *httptest.Server {
	t.Helper()
	pages, err := page.New()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNoContent) // the icon that browsers ask for
			return
		}
		q := r.URL.Query()
		d := pages.Sample(looks[q.Get("look")], q.Get("state"), q.Get("lang"), time.Date(2026, 12, 4, 12, 0, 0, 0, time.UTC))
		d.Nonce = "nonce"
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", d.Policy())
		var b bytes.Buffer
		if err := pages.Write(&b, d); err != nil {
			t.Error(err)
		}
		w.Write(b.Bytes())
	}))
	t.Cleanup(s.Close)
	return s
}

var looks = map[string]queue.WaitPage{
	"branded": {
		Theme:   map[string]string{"accent": "#e11d48", "background": "#fff7ed", "text": "#431407"},
		Title:   map[string]string{"en": "Sneaker 42: the drop"},
		Message: map[string]string{"en": "One pair each.\nThank you for your patience."},
	},
	"accent": {Theme: map[string]string{"accent": "#ffd400"}},
}

// screens are what people look at pages on.
var screens = []struct {
	name string
	o    browsertest.Options
}{
	{"desktop-light", browsertest.Options{Width: 1280, Height: 800}},
	{"phone-dark", browsertest.Options{Width: 360, Height: 740, Phone: true, Dark: true}},
	{"phone-light", browsertest.Options{Width: 360, Height: 740, Phone: true}},
	{"desktop-dark", browsertest.Options{Width: 1280, Height: 800, Dark: true}},
}

func TestEveryStateIsAccessibleInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := gallery(t, looks)
	for i, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			t.Parallel()
			p := browsertest.Open(t, screen.o)
			for j, lang := range queue.PageLanguages {
				for k, state := range page.States() {
					// Every state in every language, on one of the screens each; in full length on all of them.
					if (j+k)%len(screens) != i && os.Getenv("CASES") != "full" {
						continue
					}
					p.Go(s.URL + "/?state=" + state + "&lang=" + lang)
					p.Accessible()
					if wide := browsertest.Evaluate[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
						t.Errorf("%s in %s is %d px too wide", state, lang, wide)
					}
				}
			}
			for look := range looks {
				p.Go(s.URL + "/?state=waiting&lang=en&look=" + look)
				p.Accessible()
			}
		})
	}
}

// TestPictures takes pictures of all states, for people to look at.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("SKIPPED: takes pictures only with -pictures DIR")
	}
	s := gallery(t, looks)
	keep := func(p *browsertest.Page, name string) {
		if err := os.WriteFile(filepath.Join(*pictures, name+".png"), p.Picture(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	take := func(p *browsertest.Page, query, name string) {
		p.Go(s.URL + "/?" + query)
		keep(p, name)
	}
	for i, screen := range screens {
		p := browsertest.Open(t, screen.o)
		for _, state := range page.States() {
			take(p, "state="+state+"&lang="+[]string{"en", "ko", "de", "ja"}[i], state+"-"+screen.name)
		}
		for look := range looks {
			take(p, "state=waiting&lang=en&look="+look, look+"-"+screen.name)
		}
	}
	// What a page shows only while it runs.
	w := newWay(t, true)
	w.cutStreams()
	w.people(t, 41)
	w.gathers(t, "sku-2", time.Now().Add(26*time.Hour))
	for i, screen := range screens {
		o := screen.o
		o.Lang = []string{"en", "ko", "de", "ja"}[i]
		p := w.open(t, o)
		p.Pardon("Failed to load resource")
		p.Go(w.url + "/wait/sku-2")
		p.Eventually(`!document.querySelector("#countdown").hidden`)
		keep(p, "countdown-"+screen.name)
		p.Go(w.page())
		p.Click("#leave summary")
		keep(p, "leaving-"+screen.name)
		w.cut.Store(true)
		reconnected(p)
		p.Eventually(`!document.querySelector("#trouble").hidden`)
		keep(p, "trouble-"+screen.name)
		w.cut.Store(false)
	}
}
