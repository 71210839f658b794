package gate

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
)

// The switch over all items, each state of a queue, and who asks: a newcomer, one who waits, one who is inside, and one who
// passed before the queue turned on. Everybody passes, or nobody new is let in.
func TestTheSwitchInEveryState(t *testing.T) {
	t.Parallel()
	type answers struct{ newcomer, waits, inside, marked string }
	const off, on, paused, prequeue, closed, none = "pass/queue_off", "wait/queue_on", "wait/paused", "wait/prequeue", "reject/closed", "404/no_place"
	const valid, grace = "pass/pass_valid", "pass/grace"
	everybody := answers{off, off, valid, off}
	for _, tc := range []struct {
		state  string
		swtch  settings.Switch
		check  answers
		status answers
	}{
		{"off", settings.Normal, answers{off, off, off, off}, answers{off, off, off, off}},
		{"prequeue", settings.Normal, answers{prequeue, prequeue, prequeue, prequeue}, answers{none, prequeue, none, none}},
		{"open", settings.Normal, answers{on, on, valid, grace}, answers{none, on, valid, grace}},
		{"paused", settings.Normal, answers{paused, paused, valid, grace}, answers{none, paused, valid, grace}},
		{"draining", settings.Normal, answers{closed, on, valid, grace}, answers{none, on, valid, grace}},
		{"closed", settings.Normal, answers{closed, closed, valid, closed}, answers{closed, closed, valid, closed}},

		{"off", settings.Pass, answers{off, off, off, off}, answers{off, off, off, off}},
		{"prequeue", settings.Pass, answers{off, off, off, off}, answers{off, off, off, off}}, // the sale has ended the pass
		{"open", settings.Pass, everybody, everybody},
		{"paused", settings.Pass, everybody, everybody},
		{"draining", settings.Pass, everybody, everybody},
		{"closed", settings.Pass, everybody, everybody},

		{"off", settings.Hold, answers{paused, paused, valid, off}, answers{paused, paused, valid, off}},
		{"prequeue", settings.Hold, answers{prequeue, prequeue, prequeue, prequeue}, answers{none, prequeue, none, none}},
		{"open", settings.Hold, answers{paused, paused, valid, grace}, answers{none, paused, valid, grace}},
		{"paused", settings.Hold, answers{paused, paused, valid, grace}, answers{none, paused, valid, grace}},
		{"draining", settings.Hold, answers{closed, paused, valid, grace}, answers{none, paused, valid, grace}},
		{"closed", settings.Hold, answers{closed, closed, valid, closed}, answers{closed, closed, valid, closed}},
	} {
		for call, want := range map[string]answers{"check": tc.check, "status": tc.status} {
			t.Run(fmt.Sprintf("%s, the switch on %s, %s", tc.state, tc.swtch, call), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 0 })
				marked, inside := r.app(), r.app()
				marked = marked.keep(marked.check("sku-1"))
				r.hand.Add(2 * time.Second)
				r.activate("sku-1")
				inside = inside.keep(inside.check("sku-1"))
				r.do("sku-1", queue.SwitchOrder{Action: queue.Admit, Count: 1})
				r.pass(time.Second)
				inside = inside.keep(inside.want(inside.status("sku-1"), "pass/admitted"))
				switch tc.state {
				case "off":
					r.do("sku-1", queue.SwitchOrder{Action: queue.Deactivate})
					marked = marked.keep(marked.check("sku-1"))
				case "prequeue":
					r.do("sku-1", queue.SwitchOrder{Action: queue.Deactivate})
					r.hand.Add(2 * time.Second)
					r.do("sku-1", queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale})
				}
				waits := r.app()
				b := waits.check("sku-1")
				waits = waits.keep(b)
				if b.Action == "pass" { // of an off queue, before it was: a ticket of the line that is gone
					waits = r.app()
				}
				switch tc.state {
				case "paused":
					r.do("sku-1", queue.SwitchOrder{Action: queue.Pause})
				case "draining":
					r.do("sku-1", queue.SwitchOrder{Action: queue.Drain})
				case "closed":
					r.do("sku-1", queue.SwitchOrder{Action: queue.Close})
				}
				r.all(tc.swtch)
				r.hand.Add(time.Second)
				line := r.counts("sku-1").Waiting
				newcomer := r.app()
				for _, who := range []struct {
					name string
					c    *client
					want string
				}{{"who is inside", inside, want.inside}, {"who passed before", marked, want.marked}, {"who waits", waits, want.waits}, {"a newcomer", newcomer, want.newcomer}} {
					b := who.c.get("/v1/items/sku-1/" + call)
					got := b.verdict()
					if b.status != 200 {
						got = fmt.Sprintf("%d/%s", b.status, b.code)
					}
					if got != who.want {
						t.Errorf("%s: %s, want %s", who.name, got, who.want)
						continue
					}
					if b.status != 200 {
						continue
					}
					if needs := b.Reason == "pass_valid" || b.Reason == "admitted" || b.Reason == "grace"; needs != (b.Pass != nil) {
						t.Errorf("%s: %s with the pass %v", who.name, got, b.Pass)
					}
					if (b.Action == "wait") != (b.Place != nil) {
						t.Errorf("%s: %s with the place %v", who.name, got, b.Place)
					}
					if b.Queue.State != r.header("sku-1").State.String() {
						t.Errorf("%s: the queue is %s", who.name, b.Queue.State)
					}
					if now := r.counts("sku-1").Waiting; b.Queue.Waiting < min(line, now) || b.Queue.Waiting > max(line, now) {
						t.Errorf("%s: %d wait, told %d", who.name, now, b.Queue.Waiting)
					}
				}
			})
		}
	}
}

// While only memory answers, the length of the line is still that of now, or of a second ago.
func TestTheLengthOfTheLineIsNoOldOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.InflowPerSecond = 0 })
	r.activate("sku-1")
	for range 3 {
		r.browser().at(0).check("sku-1")
	}
	r.all(settings.Pass)
	shows := func(n int64) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for c := r.browser().at(1); c.want(c.check("sku-1"), "pass/queue_off").Queue.Waiting != n; {
			if time.Now().After(deadline) {
				t.Fatalf("node 1 shows %d, want %d", c.check("sku-1").Queue.Waiting, n)
			}
		}
	}
	shows(3)
	r.do("sku-1", queue.SwitchOrder{Action: queue.Reset})
	r.hand.Add(1100 * time.Millisecond)
	shows(0)
}
