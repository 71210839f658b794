package gate

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

// B127: what the waiting do counts as no traffic: polls, streams, the page and its reloads. Only checks do.
func TestPollsStreamsAndThePageAreNoTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) {
		p.TriggerRequests, p.TriggerWindowSeconds, p.InflowPerSecond, p.ReleaseAfterSeconds = 50, 10, 10, 5
	})
	for range 60 {
		r.browser().check("sku-1")
	}
	r.sync()
	if !r.header("sku-1").On() {
		t.Fatal("the queue is not on")
	}
	waiting := make([]*client, 40)
	for i := range waiting {
		waiting[i] = r.browser().at(i % 2)
		waiting[i].want(waiting[i].check("sku-1"), "wait/queue_on")
	}
	r.do("sku-1", queue.SwitchOrder{Action: queue.Pause})
	r.pass(11 * time.Second) // the checks leave the window
	before := r.requests("sku-1")
	for range 3 {
		for _, c := range waiting {
			c.want(c.status("sku-1"), "wait/paused")
			if w := c.with("Accept", "text/html").do(http.MethodGet, "/wait/sku-1"); w.Code != http.StatusOK {
				t.Fatalf("the page: %d", w.Code)
			}
			c.do(http.MethodGet, "/healthz")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	resp, lines := stream(t, ctx, r, waiting[0], "sku-1")
	if _, ok := event(t, lines); !ok {
		t.Error("the stream says nothing")
	}
	cancel()
	resp.Body.Close()
	if n := r.requests("sku-1"); n != before {
		t.Errorf("%d requests of traffic, before %d", n, before)
	}
	// So it is released once nobody waits, however often they asked.
	r.do("sku-1", queue.SwitchOrder{Action: queue.Resume})
	for range 20 {
		for _, c := range waiting {
			c.status("sku-1")
			c.with("Accept", "text/html").do(http.MethodGet, "/wait/sku-1")
		}
		r.pass(time.Second)
	}
	if r.header("sku-1").On() {
		t.Errorf("still on: %+v", r.counts("sku-1"))
	}
}

// B118: a prefetch that a proxy asks about claims no admission that waits for its visitor.
func TestAPrefetchThroughAProxyClaimsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 10 })
	r.activate("sku-1")
	c := r.browser()
	c.want(c.check("sku-1"), "wait/queue_on")
	r.pass(time.Second)
	for _, h := range [][2]string{
		{"Sec-Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"Purpose", "prefetch"}, {"X-Moz", "prefetch"}, {"Next-Router-Prefetch", "1"},
	} {
		for _, path := range []string{"/v1/authorize", "/v1/authorize?redirect=1"} {
			w := c.with(h[0], h[1], "X-Sluice-Item", "sku-1").do(http.MethodGet, path)
			if w.Code == http.StatusNoContent || w.Code == http.StatusOK || w.Header().Get("Set-Cookie") != "" || strings.Contains(w.Header().Get("Sluice-Pass"), ".") {
				t.Errorf("%s of %s: %d %v", path, h, w.Code, w.Header())
			}
		}
	}
	standing, err := r.store.Find(t.Context(), "sku-1", r.visitor(c.check("other")))
	if err != nil || standing.Outcome != queue.Inside || standing.Admission.ClaimedMS != 0 {
		t.Fatalf("claimed: %+v, %v", standing, err)
	}
	if w := c.with("X-Sluice-Item", "sku-1").do(http.MethodGet, "/v1/authorize"); w.Code != http.StatusNoContent {
		t.Errorf("in earnest: %d", w.Code)
	}
}

// B104: nine hours in line outlive two changes of the secret key and five restarts; one who comes back every five minutes
// keeps the place as well as one who polls all along.
func TestALongWaitOutlivesKeysAndRestarts(t *testing.T) {
	t.Parallel()
	const (
		first  = "c2x1aWNlIHRlc3Qgc2VjcmV0IGtleSAwMTIzNDU2Nzg5YWJjZGVm" // the rig's
		second = "YW5vdGhlciBzZWNyZXQga2V5IG9mIHRoZSB0ZXN0cywgMTIzNDU2"
		third  = "dGhlIHRoaXJkIHNlY3JldCBrZXkgb2YgdGhlIHRlc3RzLCA3ODkw"
	)
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 0; p.ReturnSeconds = 600 })
	r.activate("sku-1")
	ahead, awake, sleeper := r.app(), r.app(), r.app()
	ahead = ahead.keep(ahead.check("sku-1"))
	awake = awake.keep(awake.check("sku-1"))
	sleeper = sleeper.keep(sleeper.want(sleeper.check("sku-1"), "wait/queue_on"))
	rotate := map[time.Duration]string{
		2 * time.Hour: first + "," + second, 3 * time.Hour: second + "," + first, // a new key is known to all before it signs
		5 * time.Hour: third + "," + second + "," + first, 8 * time.Hour: third + "," + second,
	}
	const beat = 25 * time.Second
	for at := time.Duration(0); at < 9*time.Hour; at += beat {
		if secret, due := rotate[at.Truncate(time.Hour)]; due && at-at.Truncate(time.Hour) < beat {
			restart(r, secret)
		} else if at == 6*time.Hour {
			restart(r, rotate[5*time.Hour])
		}
		r.pass(beat)
		ahead = ahead.keep(ahead.want(ahead.status("sku-1"), "wait/queue_on"))
		b := awake.want(awake.status("sku-1"), "wait/queue_on")
		if b.position() != 2 {
			t.Fatalf("after %v: %s", at, b.raw)
		}
		awake = awake.keep(b)
		if at%(5*time.Minute) == 0 {
			b := sleeper.want(sleeper.status("sku-1"), "wait/queue_on")
			if b.position() != 3 {
				t.Fatalf("the sleeper after %v: %s", at, b.raw)
			}
			sleeper = sleeper.keep(b)
		}
	}
	for i, c := range []*client{ahead, awake, sleeper} {
		c = c.keep(c.want(c.status("sku-1"), "wait/queue_on")) // the sleeper may be away
		r.do("sku-1", queue.SwitchOrder{Action: queue.Admit, Count: 1})
		r.pass(time.Second)
		if b := c.want(c.status("sku-1"), "pass/admitted"); b.Pass == nil {
			t.Errorf("visitor %d: %s", i, b.raw)
		}
	}
	if w := awake.with("Accept", "text/html").do(http.MethodGet, "/wait/sku-1"); w.Code >= 400 {
		t.Errorf("the page after nine hours: %d", w.Code)
	}
}

// restart puts a new gate in the place of the first node's, with these secret keys.
func restart(r *rig, secret string) {
	r.t.Helper()
	secrets, err := ticket.ParseSecret(secret)
	if err != nil {
		r.t.Fatal(err)
	}
	o := r.nodes[0].Options
	o.Keys = ticket.New(secrets)
	if r.nodes[0].Gate, err = New(o); err != nil {
		r.t.Fatal(err)
	}
}

// B152: two days with hardly anybody: one let in an hour, one newcomer each 50 minutes, a restart in the middle. Nobody becomes
// unknown, nothing begins anew, and when the queue is off all of it is gone ten minutes later.
func TestALineWithHardlyAnyTrafficLivesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) {
		p.InflowPerSecond, p.AbandonSeconds, p.ClaimSeconds, p.SessionSeconds = 1./3600, 1800, 1800, 300
	})
	r.activate("sku-1")
	generation := r.header("sku-1").Generation
	var line []*client
	in := 0
	const beat = 10 * time.Minute
	hours := 8
	if os.Getenv("CASES") == "full" {
		hours = 48
	}
	span := time.Duration(hours) * time.Hour
	for at := time.Duration(0); at < span; at += beat {
		if at == span/2 {
			restart(r, "c2x1aWNlIHRlc3Qgc2VjcmV0IGtleSAwMTIzNDU2Nzg5YWJjZGVm")
		}
		if at%(50*time.Minute) == 0 {
			c := r.app()
			b := c.check("sku-1")
			if b.Action == "wait" {
				if b.position() != int64(len(line)+1) {
					t.Fatalf("after %v a newcomer stands at %d of %d", at, b.position(), len(line)+1)
				}
				line = append(line, c.keep(b))
			}
		}
		for range beat / time.Minute {
			r.pass(time.Minute)
		}
		still := line[:0]
		for _, c := range line {
			switch b := c.status("sku-1"); b.verdict() {
			case "pass/admitted":
				if len(still) > 0 {
					t.Fatalf("after %v one was let in before another who came first", at)
				}
				in++
			case "wait/queue_on":
				if still = append(still, c.keep(b)); b.position() != int64(len(still)) || queue.Generation(b.Queue.Generation) != generation {
					t.Fatalf("after %v number %d: %s", at, len(still), b.raw)
				}
			default:
				t.Fatalf("after %v: %d %s", at, b.status, b.raw)
			}
		}
		line = still
	}
	if in < hours-3 || in > hours {
		t.Errorf("%d let in in %d hours", in, hours)
	}
	r.do("sku-1", queue.SwitchOrder{Action: queue.Deactivate})
	r.pass(11 * time.Minute)
	if kept := r.store.Items(); len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
}
