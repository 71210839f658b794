package gate

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// B119: ten thousand places taken by one who drops the cookies, of whom twenty go on to poll, are gone after the abandon
// time: whoever stands behind moves up by all of them.
func TestPlacesThatNobodyPollsForLeave(t *testing.T) {
	t.Parallel()
	const taken, polled, honest = 10_000, 20, 30
	r := newRig(t, 2, func(p *queue.Policy) { p.InflowPerSecond, p.AbandonSeconds, p.MaxWaiting = 0, 30, 0 })
	r.activate("sku-1")
	var alive []*client
	for i := range taken {
		c := r.app().at(i % 2)
		b := c.check("sku-1")
		if b.position() != int64(i+1) {
			t.Fatalf("place %d is %s", i+1, b.raw)
		}
		if i%(taken/polled) == 0 {
			alive = append(alive, c.keep(b))
		}
	}
	for i := range honest {
		c := r.app().at(i % 2)
		alive = append(alive, c.keep(c.check("sku-1")))
	}
	if n := r.counts("sku-1"); n.Waiting != taken+honest || n.Joined != taken+honest {
		t.Fatalf("%+v", n)
	}
	for range 8 {
		r.pass(5 * time.Second)
		for i, c := range alive {
			b := c.status("sku-1")
			if b.Action != "wait" {
				t.Fatalf("one who polls: %s", b.raw)
			}
			alive[i] = c.keep(b)
		}
	}
	r.pass(10 * time.Second)
	if n := r.counts("sku-1"); n.Waiting != polled+honest || n.Abandoned != taken-polled {
		t.Errorf("%d wait, %d have been given up", n.Waiting, n.Abandoned)
	}
	for i, c := range alive {
		if b := c.status("sku-1"); b.position() != int64(i+1) || !b.Place.Exact {
			t.Errorf("the one at %d is told %s", i+1, b.raw)
		}
	}
}
