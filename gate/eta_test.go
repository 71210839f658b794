package gate

import (
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// Invariant honest-eta: over a line of 1,000 of whom 20 % leave (half of them without a word) and 20 % never claim, the
// times shown are right: median error at most 10 %, and the band, no wider than 35 %, holds four times out of five.
func TestShownWaitingTimesAreRight(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 4; p.AbandonSeconds = 60; p.ClaimSeconds = 30 })
	r.activate("sku-1")
	rnd := rand.New(rand.NewPCG(1, 2))
	type told struct {
		at            time.Time
		wait, low, hi float64
	}
	type person struct {
		c        *client
		visitor  queue.Visitor
		due      time.Time
		quits    time.Time // the zero time: stays
		silently bool
		claims   bool
		done     bool
		told     []told
	}
	var people []*person
	arrive := func() {
		c := r.app()
		b := c.check("sku-1")
		p := &person{c: c.keep(b), visitor: r.visitor(b), claims: rnd.Float64() >= 0.2}
		p.due = r.hand.Now().Add(time.Duration(b.Place.PollAfterMS) * time.Millisecond)
		if rnd.Float64() < 0.2 {
			p.quits = r.hand.Now().Add(time.Duration(rnd.Float64() * float64(b.position()) / 4 * float64(time.Second)))
			p.silently = rnd.IntN(2) == 0
		}
		people = append(people, p)
	}
	for range 700 {
		arrive()
	}
	var errs []float64
	within, bands := 0, 0
	for range 400 {
		r.pass(time.Second)
		if len(people) < 1000 {
			arrive()
			arrive()
		}
		now := r.hand.Now()
		for _, p := range people {
			switch {
			case p.done || now.Before(p.due):
				continue
			case !p.quits.IsZero() && now.After(p.quits):
				if p.done = true; !p.silently {
					p.c.do(http.MethodDelete, "/v1/items/sku-1/place")
				}
				continue
			}
			standing, err := r.store.Find(t.Context(), "sku-1", p.visitor)
			if err != nil {
				t.Fatal(err)
			}
			if standing.Outcome == queue.Inside {
				p.done = true
				admitted := time.UnixMilli(standing.Admission.AdmittedMS)
				for _, s := range p.told {
					took := admitted.Sub(s.at).Seconds()
					if took < 1 {
						continue
					}
					errs = append(errs, math.Abs(s.wait-took)/took)
					if bands++; s.low <= took && took <= s.hi {
						within++
					}
					if s.hi-s.wait > 0.35*s.wait+2 || s.wait-s.low > 0.35*s.wait+2 {
						t.Fatalf("band %v–%v around %v", s.low, s.hi, s.wait)
					}
				}
				if p.claims {
					p.c.want(p.c.status("sku-1"), "pass/admitted")
				}
				continue
			}
			b := p.c.want(p.c.status("sku-1"), "wait/queue_on")
			if b.Queue.Waiting > 100 && b.Place.EtaSeconds != nil {
				p.told = append(p.told, told{at: now, wait: float64(*b.Place.EtaSeconds), low: float64(*b.Place.EtaLowSeconds), hi: float64(*b.Place.EtaHighSeconds)})
			}
			p.c = p.c.keep(b)
			p.due = now.Add(time.Duration(b.Place.PollAfterMS) * time.Millisecond)
		}
	}
	slices.Sort(errs)
	median, share := errs[len(errs)/2], float64(within)/float64(bands)
	t.Logf("%d estimates: median error %.1f %%, 90th percentile %.1f %%, in the band %.1f %%", len(errs), 100*median, 100*errs[len(errs)*9/10], 100*share)
	if len(errs) < 1000 || median > 0.10 || share < 0.8 {
		t.Errorf("median error %.1f %%, in the band %.1f %%", 100*median, 100*share)
	}
}
