package gate

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// B121: a hidden tab asks once a minute, or not at all for a while. Once a minute keeps the place; five minutes of silence
// lead back to it; after more than abandon and return time together there is a new place at the end, and the page says so.
func TestAHiddenTabsSilence(t *testing.T) {
	t.Parallel()
	stands := func(t *testing.T, abandon int64) (r *rig, c *client, others []*client) {
		r = newRig(t, 2, func(p *queue.Policy) { p.InflowPerSecond, p.AbandonSeconds, p.ReturnSeconds = 0, abandon, 600 })
		r.activate("sku-1")
		c = r.browser()
		c.want(c.check("sku-1"), "wait/queue_on")
		for range 5 {
			o := r.browser()
			o.want(o.check("sku-1"), "wait/queue_on")
			others = append(others, o)
		}
		return r, c, others
	}
	// silent lets time pass in which the others alone ask.
	silent := func(r *rig, others []*client, d time.Duration) {
		for ; d > 0; d -= 20 * time.Second {
			r.pass(min(d, 20*time.Second))
			for _, o := range others {
				o.want(o.status("sku-1"), "wait/queue_on")
			}
		}
	}
	t.Run("a poll a minute keeps the place", func(t *testing.T) {
		t.Parallel()
		r, c, others := stands(t, 120)
		for i := range 15 {
			silent(r, others, time.Minute)
			if b := c.at(i%2).want(c.status("sku-1"), "wait/queue_on"); b.position() != 1 {
				t.Fatalf("after %d minutes: %s", i+1, b.raw)
			}
		}
		if n := r.counts("sku-1"); n.Abandoned != 0 || n.Waiting != 6 {
			t.Errorf("counts %+v", n)
		}
	})
	t.Run("with 30 s to abandon it drops out, and comes back with each poll", func(t *testing.T) {
		t.Parallel()
		r, c, others := stands(t, 30)
		silent(r, others, time.Minute)
		if n := r.counts("sku-1"); n.Waiting != 5 || n.Abandoned != 1 {
			t.Errorf("counts %+v", n)
		}
		if b := c.want(c.status("sku-1"), "wait/queue_on"); b.position() != 1 {
			t.Errorf("back: %s", b.raw)
		}
	})
	t.Run("five minutes of silence lead back to the head", func(t *testing.T) {
		t.Parallel()
		r, c, others := stands(t, 120)
		silent(r, others, 5*time.Minute)
		if n := r.counts("sku-1").Waiting; n != 5 {
			t.Errorf("%d wait meanwhile", n)
		}
		if b := c.want(c.status("sku-1"), "wait/queue_on"); b.position() != 1 {
			t.Errorf("back: %s", b.raw)
		}
	})
	t.Run("after thirteen minutes there is a new place at the end, and the page says so", func(t *testing.T) {
		t.Parallel()
		r, c, others := stands(t, 120)
		own := next(t, c.do(http.MethodGet, "/wait/sku-1").Body.String())
		silent(r, others, 13*time.Minute)
		if b := c.status("sku-1"); b.status != http.StatusNotFound || b.code != "no_place" {
			t.Errorf("status: %d %s", b.status, b.raw)
		}
		page := c.do(http.MethodGet, own).Body.String()
		if !strings.Contains(page, `id="number">6<`) || !strings.Contains(page, "Your earlier place had run out") {
			t.Errorf("the page: %s", page)
		}
	})
}

// B122: the machine slept for ten minutes, and the visitor's turn came two minutes before it woke. Where the claim still
// holds the page leads on at once; where it ran out the page stands in line again, and says why where the place is a new one.
func TestWakingAfterTheTurnCame(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		claim, abandon, comeBack int64
		want                     string // of the page; "" = it leads on
	}{
		"the claim holds":                      {600, 3600, 600, ""},
		"the claim ran out, the place is kept": {60, 3600, 600, `id="number">1<`},
		// A ticket holds for the silence allowed and the time to come back, from its issue: here 20 s longer than the line.
		"the claim ran out, and so did the ticket": {60, 500, 0, "Your earlier place had run out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, func(p *queue.Policy) {
				p.InflowPerSecond, p.ClaimSeconds, p.AbandonSeconds, p.ReturnSeconds = 0, test.claim, test.abandon, test.comeBack
			})
			r.activate("sku-1")
			c := r.browser()
			own := next(t, c.do(http.MethodGet, "/wait/sku-1?return=/product/sku-1").Body.String())
			r.pass(8 * time.Minute)
			r.do("sku-1", queue.SwitchOrder{Action: queue.Admit, Count: 1})
			r.pass(2 * time.Minute)
			if test.want == "" {
				c.want(c.status("sku-1"), "pass/admitted")
			}
			w := c.do(http.MethodGet, own)
			if test.want == "" && (w.Code != http.StatusFound || w.Header().Get("Location") != "/product/sku-1") {
				t.Errorf("%d %s", w.Code, w.Header())
			}
			if !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("the page: %s", w.Body)
			}
			if n := r.counts("sku-1"); n.Waiting+n.Running != 1 || !n.Balanced() {
				t.Errorf("counts %+v", n)
			}
		})
	}
}

// B095: whatever a visitor writes into the cookie, it leads to no pass and to no better place: it is the visitor's own place,
// or none.
func TestAnEditedCookieLeadsNowhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 0 })
	r.activate("sku-1")
	r.browser().check("sku-1")
	c := r.browser()
	c.want(c.check("sku-1"), "wait/queue_on")
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for name, value := range c.cookies {
		for i := range value {
			edited := r.browser()
			letter := letters[(strings.IndexByte(letters, value[i])+1)%len(letters)]
			edited.cookies[name] = value[:i] + string(letter) + value[i+1:]
			if b := edited.status("sku-1"); b.code != "no_place" && (b.verdict() != "wait/queue_on" || b.position() != 2) {
				t.Errorf("byte %d of %s: %s", i, name, b.raw)
			}
			if w := edited.do(http.MethodGet, "/v1/authorize/product/sku-1"); w.Code != http.StatusUnauthorized {
				t.Errorf("byte %d of %s: %d", i, name, w.Code)
			}
		}
	}
	if b := c.want(c.status("sku-1"), "wait/queue_on"); b.position() != 2 {
		t.Errorf("the place itself: %s", b.raw)
	}
}
