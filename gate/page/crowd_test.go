package page_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sluice "github.com/sluicehq/sluice/examples/go"
	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/sitetest"
)

// peopleAhead stand in line before the browser of TestOneBrowserAmongThreeHundredPeople.
const peopleAhead = 300

// crowd lets so many people stand in line, who ask as told and go in when it is their turn.
func (w *way) crowd(t *testing.T, n int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { stop(); all.Wait() })
	transport := &http.Transport{MaxIdleConnsPerHost: n}
	t.Cleanup(transport.CloseIdleConnections)
	for i := range n {
		c, err := sluice.New(sluice.Options{URL: w.Sluice, HTTP: &http.Client{Timeout: time.Minute, Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := c.Check(ctx, "sku-1"); err != nil || a.Action != sluice.Wait {
			t.Fatalf("person %d: %v %v", i, a.Action, err)
		}
		all.Go(func() {
			if a, err := c.Wait(ctx, "sku-1", nil); ctx.Err() == nil && (err != nil || a.Action != sluice.Pass) {
				t.Errorf("person %d: %v %v", i, a.Action, err)
			}
		})
	}
}

// reportPlaces tells the test of every place that the page shows, with the time, since reports may overtake one another.
const reportPlaces = `(() => {
	let last = "";
	const look = () => {
		const place = document.querySelector("#place"), number = place && !place.hidden ? document.querySelector("#number").textContent : "";
		if (number && number !== last) {
			last = number;
			const report = "/seen?what=" + encodeURIComponent("place " + (performance.timeOrigin + performance.now()).toFixed(3) + " " + number);
			const send = () => fetch(report, {keepalive: true}).catch(() => setTimeout(send, 500)); // the network may be cut
			send();
		}
	};
	new MutationObserver(look).observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
})();`

// places are those that the page has shown, one after the other.
func (w *way) places(t *testing.T) (list []int64) {
	t.Helper()
	type at struct {
		when  float64
		place int64
	}
	var all []at
	for _, r := range w.reports("place") {
		when, place, _ := strings.Cut(r, " ")
		a := at{}
		var err error
		if a.when, err = strconv.ParseFloat(when, 64); err == nil {
			a.place, err = strconv.ParseInt(place, 10, 64)
		}
		if err != nil {
			t.Fatalf("reported: %s", r)
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b at) int {
		switch {
		case a.when < b.when:
			return -1
		case a.when > b.when:
			return 1
		}
		return 0
	})
	for _, a := range all {
		list = append(list, a.place)
	}
	return slices.Compact(list)
}

// Three hundred people, and one browser behind them: each place that it shows is the one that the server gave, at each update
// and over reloads, it never grows, and when it is the visitor's turn the browser lands on the page of the shop by itself,
// with a pass; however little the browser can do, and whatever becomes of the network meanwhile. B079: the address that it
// lands on is the one that it came from, to the letter.
func TestOneBrowserAmongThreeHundredPeople(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		o      browsertest.Options
		before func(w *way, p *browsertest.Page) // the line moves
		during func(t *testing.T, w *way, p *browsertest.Page)
		bare   bool // the browser keeps no cookies
	}{
		{name: "as usual", during: func(t *testing.T, w *way, p *browsertest.Page) {
			for range 2 {
				w.moved(t)
				p.Go(p.At())
			}
		}},
		{name: "without JavaScript", o: browsertest.Options{NoScript: true}},
		{name: "without cookies", bare: true, before: func(w *way, p *browsertest.Page) {
			p.Pardon("status of 404") // the first poll finds out that there are no cookies
			p.Eventually(`location.search.includes("v=") && location.search.includes("t=")`)
		}, during: func(t *testing.T, w *way, p *browsertest.Page) {
			w.moved(t)
			p.Go(p.At())
		}},
		{name: "with the network cut", before: func(_ *way, p *browsertest.Page) {
			p.Pardon("Failed to load resource")
		}, during: func(t *testing.T, w *way, p *browsertest.Page) {
			w.moved(t)
			w.cutFor(t, p, 20*time.Second)
		}},
		{name: "with the tab hidden", before: func(_ *way, p *browsertest.Page) {
			other := p.Tab()
			other.Front()
			p.Eventually(`document.hidden`)
		}, during: func(t *testing.T, w *way, p *browsertest.Page) {
			w.moved(t)
			if !browsertest.Evaluate[bool](p, `document.hidden`) {
				t.Error("the tab is not hidden")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWay(t, !c.bare)
			w.crowd(t, peopleAhead)
			p := w.open(t, c.o)
			if !c.o.NoScript {
				p.Before(reportPlaces)
			}
			back := w.shop + "?a=1&a=2&b=%2B+&next=https%3A%2F%2Fother.example%2F//#//x"
			p.Go(w.leadingTo(back))
			if c.before != nil {
				c.before(w, p)
			}
			p.Source(fmt.Sprintf(`id="number">%d<`, peopleAhead+1))
			if live := w.live(); !strings.Contains(live, fmt.Sprintf(`"waiting":%d,`, peopleAhead+1)) {
				t.Errorf("in line: %s", live)
			}
			w.On("sku-1", map[bool]float64{true: 8, false: 20}[full])
			if c.during != nil {
				c.during(t, w, p)
			}
			p.Source("Welcome to sku-1")
			if !c.o.NoScript {
				inside(p)
			}
			if at := p.At(); at != back {
				t.Errorf("at %s, want %s", at, back)
			}
			told := w.toldSoFar()
			if len(told) < 3 || told[0] != peopleAhead+1 || !slices.IsSortedFunc(told, func(a, b int64) int { return int(b - a) }) {
				t.Errorf("the server gave the places %v", told)
			}
			if c.o.NoScript {
				return // the page is what the server says
			}
			// A reload may come between an answer and the page that shows it.
			places, skipped := w.places(t), 0
			for _, place := range told {
				if !slices.Contains(places, place) {
					skipped++
				}
			}
			if !slices.IsSortedFunc(places, func(a, b int64) int { return int(b - a) }) || skipped > 2 || slices.ContainsFunc(places, func(n int64) bool { return !slices.Contains(told, n) }) {
				t.Errorf("the page showed the places\n%v, the server gave\n%v", places, told)
			}
		})
	}
}

// toldSoFar are the places that the server's answers gave, each once.
func (w *way) toldSoFar() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Compact(slices.Clone(w.told))
}

// moved waits until the browser was told of two further places.
func (w *way) moved(t *testing.T) {
	t.Helper()
	before := len(w.toldSoFar())
	sitetest.Until(t, "two further places", func() bool { return len(w.toldSoFar()) >= before+2 })
}

// cutFor cuts the network for so long, or, where cases do not run in full, until the page has asked in vain three times; the
// page says so meanwhile, and stays where it is.
func (w *way) cutFor(t *testing.T, p *browsertest.Page, long time.Duration) {
	t.Helper()
	before, since := len(w.requests("poll")), time.Now()
	w.disconnect()
	p.Eventually(`!document.querySelector("#trouble").hidden`)
	place := browsertest.Evaluate[string](p, `document.querySelector("#number").innerText`)
	sitetest.Until(t, "three polls in vain", func() bool { return len(w.requests("poll")) >= before+3 })
	if full {
		<-time.After(time.Until(since.Add(long)))
	}
	if now := browsertest.Evaluate[string](p, `document.querySelector("#number").innerText`); !w.waits(p) || now != place || browsertest.Evaluate[bool](p, `document.querySelector("#trouble").hidden`) {
		t.Errorf("with the network cut for %v: at %s with the place %s, before %s", time.Since(since), p.At(), now, place)
	}
	w.cut.Store(false)
	p.Eventually(`!document.querySelector("#trouble") || document.querySelector("#trouble").hidden`)
}
