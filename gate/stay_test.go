package gate

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// claims verifies a pass as an origin would, at the rig's time.
func (r *rig) claims(token string) pass.Claims {
	r.t.Helper()
	keys, err := pass.ParseJWKS(r.browser().do(http.MethodGet, "/.well-known/jwks.json").Body.Bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	v := pass.Verifier{Keys: keys, Issuer: "https://queue.example", Now: func() time.Time { return start }}
	// At its own time of issue, whatever the rig's is.
	c, err := v.VerifyAny(token)
	for range 500_000 {
		if err == nil {
			return c
		}
		at := v.Now().Add(30 * time.Second)
		v.Now = func() time.Time { return at }
		if c, err = v.VerifyAny(token); at.After(start.Add(48 * time.Hour)) {
			break
		}
	}
	r.t.Fatalf("pass: %v", err)
	return c
}

// B004
func TestWhoClaimsLateComesBackToTheHead(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.ClaimSeconds = 10; p.MaxActiveUsers = 1; p.InflowPerSecond = 10 })
	r.activate("sku-1")
	a, b := r.browser(), r.browser().at(1)
	a.want(a.check("sku-1"), "wait/queue_on")
	b.want(b.check("sku-1"), "wait/queue_on")
	r.pass(time.Second)
	admitted := time.Duration(0)
	for waited := time.Duration(0); waited < 15*time.Second; waited += time.Second {
		if got := b.status("sku-1"); got.Action == "pass" && admitted == 0 {
			b.want(got, "pass/admitted")
			admitted = waited
		}
		r.pass(time.Second)
	}
	if admitted == 0 || admitted > 12*time.Second {
		t.Fatalf("B was admitted after %v", admitted)
	}
	for range 3 {
		if got := a.want(a.status("sku-1"), "wait/queue_on"); got.position() != 1 {
			t.Errorf("A by status: %s", got.raw)
		}
		if got := a.want(a.check("sku-1"), "wait/queue_on"); got.position() != 1 {
			t.Errorf("A by check: %s", got.raw)
		}
		r.pass(time.Second)
	}
	if c := r.counts("sku-1"); c.Running != 1 || c.NoShow != 1 || !c.Balanced() {
		t.Errorf("counts %+v", c)
	}

	late := newRig(t, 1, func(p *queue.Policy) {
		p.ClaimSeconds = 10
		p.ReturnSeconds = 5
		p.AbandonSeconds = 30
		p.InflowPerSecond = 10
	})
	late.activate("sku-1")
	c := late.browser()
	c.check("sku-1")
	late.pass(40 * time.Second)
	if got := c.status("sku-1"); got.status != 404 || got.code != "no_place" {
		t.Errorf("past return_seconds: %d %s", got.status, got.raw)
	}
}

// B005
func TestFinishFreesTheSlotAndEndsThePass(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.MaxActiveUsers = 1; p.InflowPerSecond = 10 })
	r.activate("sku-1")
	a, b := r.browser(), r.browser()
	a.check("sku-1")
	b.check("sku-1")
	r.pass(time.Second)
	first := a.want(a.status("sku-1"), "pass/admitted")
	b.want(b.status("sku-1"), "wait/queue_on")
	for _, path := range []string{"finish", "finish"} {
		if w := a.do(http.MethodPost, "/v1/items/sku-1/"+path); w.Code != http.StatusNoContent {
			t.Fatalf("finish: %d %s", w.Code, w.Body)
		}
	}
	withPass := a.with("Sluice-Pass", first.Pass.Token)
	withPass.want(withPass.check("sku-1"), "wait/queue_on")
	r.pass(time.Second)
	b.want(b.status("sku-1"), "pass/admitted")
	// The others learn of it with the next beats: within a second.
	other := withPass.at(1)
	other.check("sku-1")
	r.pass(time.Second)
	other.want(other.check("sku-1"), "wait/queue_on")
	for i := range 2 {
		w := r.browser().at(i).do(http.MethodPost, "/v1/passes/renew", fmt.Sprintf(`{"passes":[%q]}`, first.Pass.Token))
		if w.Code != 200 || !strings.Contains(w.Body.String(), `{"error":"ended"}`) {
			t.Errorf("renew on node %d: %d %s", i, w.Code, w.Body)
		}
	}
	if w := withPass.do(http.MethodPost, "/v1/items/sku-1/finish"); w.Code != http.StatusNoContent {
		t.Errorf("finish again: %d", w.Code)
	}
	if got := a.status("sku-1"); got.position() != 1 {
		t.Errorf("A lines up anew: %s", got.raw)
	}
	if c := r.counts("sku-1"); c.Running != 1 || c.Finished != 1 || c.Waiting != 1 || !c.Balanced() {
		t.Errorf("counts %+v", c)
	}
	if w := r.browser().do(http.MethodPost, "/v1/items/sku-1/finish"); w.Code != http.StatusForbidden {
		t.Errorf("a stranger finishes: %d", w.Code)
	}
}

// B007
func TestALostPassIsGivenAgainAndAnExpiredOneMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.SessionSeconds = 60; p.ClaimSeconds = 60; p.InflowPerSecond = 10 })
	r.activate("sku-1")
	a := r.app()
	joined := a.check("sku-1")
	r.pass(time.Second)
	ticketOnly := a.with("Sluice-Ticket", joined.ticket())
	t0 := r.hand.Now()
	claim := a.want(ticketOnly.status("sku-1"), "pass/admitted")
	r.pass(50 * time.Second)
	again := a.want(ticketOnly.at(1).status("sku-1"), "pass/admitted")
	if again.Pass.Token != claim.Pass.Token || again.Pass.ExpiresAt != claim.Pass.ExpiresAt {
		t.Errorf("at 50 s another pass: %s, then %s", claim.raw, again.raw)
	}
	r.pass(5 * time.Second)
	passOnly := a.with("Sluice-Pass", again.Pass.Token)
	renewed := a.want(passOnly.check("sku-1"), "pass/pass_valid")
	if renewed.Pass.ExpiresAt.Before(t0.Add(115 * time.Second)) {
		t.Errorf("at 55 s a pass until %v", renewed.Pass.ExpiresAt)
	}
	r.pass(25 * time.Second)
	if got := passOnly.check("sku-1"); got.Action != "pass" || got.Pass == nil {
		t.Errorf("at 80 s, still inside: %s", got.raw)
	}
	if w := a.do(http.MethodPost, "/v1/passes/renew", fmt.Sprintf(`{"passes":[%q]}`, claim.Pass.Token)); !strings.Contains(w.Body.String(), `{"error":"expired"}`) {
		t.Errorf("renewing the expired one: %s", w.Body)
	}
	if c := r.counts("sku-1"); c.Running != 1 || c.Admitted != 1 {
		t.Errorf("counts %+v", c)
	}
}

// B082
func TestOneAdmissionIsOnePass(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, func(p *queue.Policy) { p.InflowPerSecond = 1 })
	r.activate("sku-1")
	a := r.app()
	a = a.keep(a.check("sku-1"))
	r.pass(time.Second)
	tokens := make([]string, 200)
	var wg sync.WaitGroup
	for i := range tokens {
		wg.Go(func() { tokens[i] = a.at(i % 3).status("sku-1").pass() })
	}
	wg.Wait()
	for _, token := range tokens {
		if token == "" || r.claims(token).ID != r.claims(tokens[0]).ID {
			t.Fatalf("a pass of its own: %q", token)
		}
	}
	r.browser().check("sku-1") // so that the line is not empty for those who follow
	for i := range 50 {
		c := r.app().at(i % 3)
		c = c.with("Sluice-Visitor", c.check("elsewhere").Visitor, "Sluice-Pass", tokens[0])
		if b := c.check("sku-1"); b.Action == "pass" {
			t.Fatalf("another visitor passes by A's pass: %s", b.raw)
		}
		if w := c.with("X-Sluice-Item", "sku-1").do(http.MethodGet, "/v1/authorize"); w.Code != http.StatusUnauthorized {
			t.Fatalf("authorize: %d", w.Code)
		}
	}
	for i := range 50 {
		alone := r.app().at(i%3).with("Sluice-Pass", tokens[0])
		alone.want(alone.check("sku-1"), "pass/pass_valid")
	}
	r.pass(250 * time.Millisecond)
	if c := r.counts("sku-1"); c.Running != 1 || c.Admitted != 1 {
		t.Errorf("counts %+v", c)
	}
}

// B083
func TestACopiedJarIsOneSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, func(p *queue.Policy) { p.MaxActiveUsers = 1; p.InflowPerSecond = 5; p.SessionSeconds = 30 })
	r.activate("sku-1")
	a := r.browser()
	a.check("sku-1")
	r.browser().check("sku-1")
	r.pass(time.Second)
	a.want(a.status("sku-1"), "pass/admitted")
	var copies []*client
	for i := range 20 {
		c := r.browser().at(i % 3)
		for k, v := range a.cookies {
			c.cookies[k] = v
		}
		copies = append(copies, c)
	}
	for range 60 {
		for _, c := range copies {
			if b := c.check("sku-1"); b.Action != "pass" {
				t.Fatalf("a copy: %s", b.raw)
			}
		}
		if n := r.counts("sku-1").Running; n != 1 {
			t.Fatalf("%d inside", n)
		}
		r.pass(time.Second)
	}
	copies[7].do(http.MethodPost, "/v1/items/sku-1/finish")
	for _, c := range copies {
		c.check("sku-1")
	}
	r.pass(time.Second)
	for i, c := range copies {
		if b := c.check("sku-1"); b.Action == "pass" {
			t.Errorf("copy %d goes on after finish: %s", i, b.raw)
		}
	}
}

// B100
func TestASessionLastsAsLongAsTheVisitorIsActive(t *testing.T) {
	t.Parallel()
	for _, headers := range []bool{false, true} {
		r := newRig(t, 2, func(p *queue.Policy) { p.InflowPerSecond = 0.5 })
		r.activate("sku-1")
		c := r.browser()
		if headers {
			c = r.app()
		}
		first := c.check("sku-1")
		if headers {
			c = c.with("Sluice-Ticket", first.ticket())
		}
		r.pass(2 * time.Second)
		b := c.want(c.status("sku-1"), "pass/admitted")
		if headers {
			c = r.app()
		}
		ends := b.Pass.ExpiresAt
		for i := range 12 {
			if headers {
				c = c.with("Sluice-Pass", b.Pass.Token)
			}
			if i == 10 {
				r.pass(235 * time.Second)
				r.store.down.Store(true)
				r.pass(5 * time.Second)
			} else {
				r.pass(240 * time.Second)
			}
			b = c.want(c.at(i%2).check("sku-1"), "pass/pass_valid")
			if !b.Pass.ExpiresAt.After(ends) {
				t.Fatalf("request %d: the pass ends at %v, as before", i, b.Pass.ExpiresAt)
			}
			ends = b.Pass.ExpiresAt
			if r.store.down.Load() {
				r.pass(55 * time.Second)
				r.store.down.Store(false)
			}
			r.pass(time.Second)
			if n := r.counts("sku-1").Running; n != 1 {
				t.Fatalf("request %d: %d inside", i, n)
			}
		}
		r.browser().check("sku-1")
		r.browser().check("sku-1")
		r.do("sku-1", queue.SwitchOrder{Action: queue.Pause})
		for range 10 { // those in line are heard of meanwhile
			r.pass(31 * time.Second)
		}
		r.browser().check("sku-1")
		if headers {
			c = c.with("Sluice-Pass", b.Pass.Token)
		}
		last := c.want(c.check("sku-1"), "wait/paused")
		if last.position() != last.Queue.Waiting {
			t.Errorf("after the gap: %s", last.raw)
		}
	}
}

func TestASessionWithoutRenewalEndsAFixedTimeAfterTheClaim(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.SessionRenewal = false; p.SessionSeconds = 60; p.InflowPerSecond = 10 })
	r.activate("sku-1")
	r.pass(time.Second)
	c := r.browser()
	b := c.want(c.check("sku-1"), "pass/admitted")
	for range 5 {
		r.pass(10 * time.Second)
		if got := c.want(c.check("sku-1"), "pass/pass_valid"); got.Pass.ExpiresAt != b.Pass.ExpiresAt {
			t.Errorf("the end moved to %v", got.Pass.ExpiresAt)
		}
		w := c.do(http.MethodPost, "/v1/passes/renew", fmt.Sprintf(`{"passes":[%q]}`, b.Pass.Token))
		if !strings.Contains(w.Body.String(), b.Pass.ExpiresAt.Format("2006-01-02T15:04:05.000Z")) {
			t.Errorf("renew: %s", w.Body)
		}
	}
}

// B080
func TestPassesHoldWhereClocksDiffer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		skew    time.Duration // of the second node, whose store cannot tell it better
		elapsed time.Duration
		want    string
	}{
		{"30 s behind", -30 * time.Second, 0, "pass/pass_valid"},
		{"20 s ahead", 20 * time.Second, 0, "pass/pass_valid"},
		{"4 s after exp", 0, 64 * time.Second, "pass/pass_valid"},
		{"6 s after exp", 0, 66 * time.Second, "pass/store_down"},
		{"31 s behind", -31 * time.Second, 0, "pass/store_down"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, func(p *queue.Policy) { p.SessionSeconds = 60; p.InflowPerSecond = 10 })
			r.activate("sku-1")
			r.pass(time.Second)
			c := r.app()
			b := c.want(c.check("sku-1"), "pass/admitted")
			r.hand.Add(tc.elapsed)
			r.store.down.Store(true)
			hand := clock.At(r.hand.Now().Add(tc.skew))
			skewed := &clock.Store{Base: hand}
			r.nodes[1].Clock = skewed
			r.nodes[1].SetPassKeys(r.nodes[1].keys.Load().signing, r.nodes[1].keys.Load().verifier.Keys)
			c = c.at(1).with("Sluice-Pass", b.Pass.Token)
			c.want(c.check("sku-1"), tc.want)
		})
	}
}

func TestTheNodesClockIsTheStores(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 0 })
	r.activate("sku-1")
	hand := clock.At(start.Add(time.Hour))
	g := r.nodes[0].Gate
	g.Clock, g.base = &clock.Store{Base: hand}, hand
	c := r.browser()
	b := c.check("sku-1")
	if g.Clock.Skew() != -time.Hour {
		t.Errorf("skew %v", g.Clock.Skew())
	}
	if !b.Place.JoinedAt.Equal(start) {
		t.Errorf("joined at %v, which is in the future", b.Place.JoinedAt)
	}
}

func TestRenewAnswersInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 10 })
	r.activate("sku-1")
	r.pass(time.Second)
	a, b := r.app(), r.app()
	p1, p2 := a.check("sku-1").pass(), b.check("sku-1").pass()
	if p1 == "" || p2 == "" {
		t.Fatal("not admitted")
	}
	r.pass(40 * time.Second)
	w := a.do(http.MethodPost, "/v1/passes/renew", fmt.Sprintf(`{"passes":[%q,"nonsense",%q,%q]}`, p1, p2, p1[:len(p1)-4]+"AAAA"))
	body := w.Body.String()
	if w.Code != 200 || strings.Count(body, `"token"`) != 2 || strings.Count(body, `{"error":"invalid"}`) != 2 {
		t.Errorf("renew: %d %s", w.Code, body)
	}
	if strings.Contains(body, p1) {
		t.Error("after a tenth of the session the same pass")
	}
	for name, tc := range map[string]struct {
		body string
		code int
	}{
		"not JSON":           {"x", 400},
		"an unknown field":   {`{"passes":[],"pass":"x"}`, 400},
		"too many":           {`{"passes":[` + strings.Repeat(`"x",`, 100) + `"x"]}`, 400},
		"none":               {`{"passes":[]}`, 200},
		"a body over 64 KiB": {`{"passes":["` + strings.Repeat("x", 70_000) + `"]}`, 413},
	} {
		if w := a.do(http.MethodPost, "/v1/passes/renew", tc.body); w.Code != tc.code || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestAResetEndsTicketsAndPasses(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 1 })
	r.activate("sku-1")
	r.pass(time.Second)
	inside, waits := r.browser(), r.browser()
	inside.want(inside.check("sku-1"), "pass/admitted")
	waits.want(waits.check("sku-1"), "wait/queue_on")
	r.do("sku-1", queue.SwitchOrder{Action: queue.Reset})
	inside.want(inside.check("sku-1"), "wait/queue_on")
	if b := waits.status("sku-1"); b.code != "no_place" {
		t.Errorf("an old ticket after the reset: %s", b.raw)
	}
}
