package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
)

func TestCheckAnswersHaveEveryField(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 100 })
	r.do("on", queue.SwitchOrder{Action: queue.Activate})
	r.do("shut", queue.SwitchOrder{Action: queue.Close})
	fields := func(b *body) []string {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(b.raw), &m); err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(m))
	}
	want := []string{"action", "item", "pass", "place", "queue", "reason", "retry_after_ms", "visitor"}
	for _, tc := range []struct{ item, verdict string }{{"off", "pass/queue_off"}, {"on", "wait/queue_on"}, {"shut", "reject/closed"}} {
		c := r.browser()
		b := c.want(c.check(tc.item), tc.verdict)
		if got := fields(b); !slices.Equal(got, want) {
			t.Errorf("%s has the fields %v", tc.verdict, got)
		}
		if b.Item != tc.item || b.Visitor == "" {
			t.Errorf("item %q, visitor %q", b.Item, b.Visitor)
		}
		// B014: a zero is a value, not a missing one.
		if !strings.Contains(b.raw, `"waiting":`) || !strings.Contains(b.raw, `"generation":`) {
			t.Errorf("zeros are left out of %s", b.raw)
		}
	}
	b := r.browser()
	place := b.check("on")
	var m struct{ Place map[string]json.RawMessage }
	json.Unmarshal([]byte(place.raw), &m)
	wantPlace := []string{"eta_high_seconds", "eta_low_seconds", "eta_seconds", "exact", "joined_at", "opens_at", "poll_after_ms", "position", "ticket", "wait_url"}
	if got := slices.Sorted(maps.Keys(m.Place)); !slices.Equal(got, wantPlace) {
		t.Errorf("place has the fields %v", got)
	}
}

// B014
func TestTheFirstInLineIsNextAndNotMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 100 })
	r.activate("sku-1")
	c := r.browser()
	b := c.want(c.check("sku-1"), "wait/queue_on")
	p := b.Place
	if b.position() != 1 || !p.Exact || p.EtaSeconds == nil || *p.EtaSeconds > 1 || *p.EtaLowSeconds > *p.EtaSeconds || *p.EtaSeconds > *p.EtaHighSeconds {
		t.Errorf("place %s", b.raw)
	}
	if p.JoinedAt == nil || !p.JoinedAt.Equal(start) {
		t.Errorf("joined at %v", p.JoinedAt)
	}
	page := c.with("Accept", "text/html").do(http.MethodGet, "/wait/sku-1").Body.String()
	if !strings.Contains(page, `<p class="first" id="first">You are next<`) || strings.Contains(page, "NaN") {
		t.Errorf("the page does not say who is next: %s", page)
	}
	off := r.browser().check("other")
	if !strings.Contains(off.raw, `"queue":{"state":"off","generation":0,"waiting":0}`) {
		t.Errorf("off: %s", off.raw)
	}
}

func TestAnEmptyLineLetsInAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 10 })
	r.activate("sku-1")
	r.pass(time.Second)
	c := r.browser()
	b := c.want(c.check("sku-1"), "pass/admitted")
	if b.Pass == nil || !b.Pass.ExpiresAt.Equal(r.hand.Now().Add(300*time.Second)) {
		t.Errorf("pass %+v", b.Pass)
	}
	c.want(c.check("sku-1"), "pass/pass_valid")
}

func TestGraceIsForThoseWhoWereInside(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		before  time.Duration // the last check, before the queue turns on
		headers bool
		sale    bool
		want    string
	}{
		{"a check a moment ago", time.Second, false, false, "pass/grace"},
		{"a check a moment ago, by header", time.Second, true, false, "pass/grace"},
		{"a check just within the session", 299 * time.Second, false, false, "pass/grace"},
		{"a check longer ago than a session", 301 * time.Second, false, false, "wait/queue_on"},
		{"a sale gives none", time.Second, false, true, "wait/queue_on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, nil)
			c := r.browser()
			if tc.headers {
				c = r.app()
				c = c.with("Sluice-Visitor", c.check("sku-1").Visitor)
			} else {
				c.check("sku-1")
			}
			r.pass(tc.before)
			o := queue.SwitchOrder{Action: queue.Activate}
			if tc.sale {
				o.Cause = queue.BySale
			}
			r.do("sku-1", o)
			b := c.at(1).want(c.at(1).check("sku-1"), tc.want)
			if tc.want == "pass/grace" && b.Pass == nil {
				t.Error("grace without a pass")
			}
			if tc.want == "pass/grace" && tc.headers {
				return
			}
			if tc.want == "pass/grace" {
				c.want(c.check("sku-1"), "pass/pass_valid")
			}
		})
	}
}

// B011
func TestATicketIsOfNoUseToAnotherVisitor(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, mode(queue.ModeOn))
	a, b := r.app(), r.app()
	joined := a.want(a.check("sku-1"), "wait/queue_on")
	other := b.check("elsewhere")
	b = b.with("Sluice-Visitor", other.Visitor, "Sluice-Ticket", joined.ticket())
	if got := b.status("sku-1"); got.status != 404 || got.code != "no_place" {
		t.Errorf("status by another's ticket: %d %s", got.status, got.raw)
	}
	if got := b.want(b.check("sku-1"), "wait/queue_on"); got.position() != 2 {
		t.Errorf("check by another's ticket: position %d", got.position())
	}
	if w := b.do(http.MethodDelete, "/v1/items/sku-1/place"); w.Code != http.StatusNoContent {
		t.Errorf("leaving: %d", w.Code)
	}
	b.check("sku-1")
	a = a.keep(joined)
	if got := a.status("sku-1"); got.position() != 1 || got.Queue.Waiting != 2 {
		t.Errorf("the owner stands at %d of %d", got.position(), got.Queue.Waiting)
	}
}

// B013
func TestAppsKeepTheirPlaceByHeadersAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, func(p *queue.Policy) { p.Mode = queue.ModeOn; p.InflowPerSecond = 0 })
	for range 4 {
		r.browser().check("sku-1")
	}
	c := r.app()
	first := c.want(c.check("sku-1"), "wait/queue_on")
	c = c.keep(first)
	for i := range 20 {
		r.pass(2 * time.Second)
		ask := c.at(i % 3).status
		if i >= 10 {
			ask = c.at(i % 3).check
		}
		b := ask("sku-1")
		if b.position() != first.position() || !b.Place.JoinedAt.Equal(*first.Place.JoinedAt) {
			t.Fatalf("answer %d: %s", i, b.raw)
		}
		if i%2 == 0 {
			c = c.keep(b)
		}
	}
	if w := c.do(http.MethodGet, "/v1/items/sku-1/check"); w.Header().Get("Set-Cookie") != "" {
		t.Error("a caller that identifies itself by headers got a cookie")
	}
	if n := r.counts("sku-1").Waiting; n != 5 {
		t.Errorf("%d wait", n)
	}
}

// B016
func TestGarbageInPlaceOfATokenCountsAsAbsent(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 5 })
	r.activate("on")
	r.pass(3 * time.Second)
	other := r.app()
	inside := other.want(other.check("on"), "pass/admitted")
	r.browser().check("on")
	for range 8 {
		r.browser().check("on") // the bucket is empty now: everybody else waits
	}
	waiting := r.app()
	place := waiting.want(waiting.check("on"), "wait/queue_on")
	last := func(s string) string {
		c := byte('A')
		if s[len(s)-1] == c {
			c = 'B'
		}
		return s[:len(s)-1] + string(c)
	}
	other64 := func(s string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(s) + "=" }
	garbage := []string{"", ".", "..", "a.b.c", "e30.e30.", strings.Repeat("A", 8000), "%00%ff", "null", "{}", strings.Repeat(".", 300),
		last(inside.pass()), inside.pass() + " x", last(place.ticket()), place.ticket() + "\n", last(place.Visitor), other64(place.Visitor), other64(inside.pass())}
	for _, name := range []string{"Sluice-Pass", "Sluice-Ticket", "Sluice-Visitor", "Cookie"} {
		for _, g := range garbage {
			for item, want := range map[string]string{"off": "pass/queue_off", "on": "wait/queue_on"} {
				value := g
				if name == "Cookie" {
					value = "sluice_visitor=" + g
				}
				c := r.browser()
				w := c.with(name, value).do(http.MethodGet, "/v1/items/"+item+"/check")
				b := parse(t, w)
				if b.status != 200 || b.verdict() != want {
					t.Errorf("%s %.40q at %s: %d %s", name, g, item, b.status, b.verdict())
				}
				if len(g) > 20 && strings.Contains(b.raw, g) {
					t.Errorf("%s %.40q is echoed", name, g)
				}
			}
		}
	}
	for _, g := range garbage {
		if len(g) > 20 && strings.Contains(r.log.String(), g) {
			t.Errorf("%.40q is in the log", g)
		}
	}
}

// B155
func TestTheCookieIsSetOnEveryBranch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want, then string
		policy           func(*queue.Policy)
		arrange          func(*rig, *client)
	}{
		{name: "queue off", want: "pass/queue_off", then: "pass/queue_off"},
		{name: "in line", want: "wait/queue_on", then: "wait/queue_on", arrange: func(r *rig, _ *client) { r.activate("sku-1") }},
		{name: "admitted at once", want: "pass/admitted", then: "pass/pass_valid", arrange: func(r *rig, _ *client) { r.activate("sku-1"); r.pass(time.Second) }},
		{name: "grace", want: "pass/grace", then: "pass/pass_valid", arrange: func(r *rig, c *client) { c.check("sku-1"); r.pass(time.Second); r.activate("sku-1") }},
		{name: "store down, open", want: "pass/store_down", then: "pass/store_down", arrange: func(r *rig, _ *client) { r.activate("sku-1"); r.store.down.Store(true) }},
		{name: "store down, closed", want: "wait/store_down", then: "wait/store_down", policy: func(p *queue.Policy) { p.OnStoreFailure = queue.FailClosed },
			arrange: func(r *rig, _ *client) { r.activate("sku-1"); r.store.down.Store(true) }},
		{name: "closed", want: "reject/closed", then: "reject/closed", arrange: func(r *rig, _ *client) { r.do("sku-1", queue.SwitchOrder{Action: queue.Close}) }},
		{name: "full", want: "reject/queue_full", then: "reject/queue_full", policy: func(p *queue.Policy) { p.MaxWaiting = 1; p.InflowPerSecond = 0 },
			arrange: func(r *rig, _ *client) { r.activate("sku-1"); r.browser().check("sku-1") }},
		{name: "an invalid cookie is replaced", want: "pass/queue_off", then: "pass/queue_off", arrange: func(_ *rig, c *client) { c.cookies["sluice_visitor"] = "AQ" + strings.Repeat("x", 60) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, tc.policy, func(o *Options) { o.PassCookie = true })
			c := r.browser()
			if tc.arrange != nil {
				tc.arrange(r, c)
			}
			w := c.do(http.MethodGet, "/v1/items/sku-1/check")
			first := parse(t, w)
			c.want(first, tc.want)
			if len(w.Header()["Set-Cookie"]) == 0 {
				t.Fatal("no cookie")
			}
			if first.Pass != nil && c.cookies["sluice_pass_sku-1"] != first.Pass.Token {
				t.Error("no cookie with the pass")
			}
			for _, line := range w.Header()["Set-Cookie"] {
				for _, part := range []string{"; Path=/", "; HttpOnly", "; SameSite=Lax", "; Secure"} {
					if !strings.Contains(line, part) {
						t.Errorf("%s is missing in %s", part, line)
					}
				}
			}
			second := c.at(1).want(c.at(1).check("sku-1"), tc.then)
			if a, b := r.visitor(first), r.visitor(second); a != b {
				t.Errorf("visitor %s became %s", a, b)
			}
			third := c.do(http.MethodGet, "/v1/items/sku-1/check")
			if third.Header().Get("Set-Cookie") != "" {
				t.Error("the cookie is set though nothing has changed")
			}
		})
	}
}

// visitor opens the visitor token of an answer.
func (r *rig) visitor(b *body) queue.Visitor {
	v, err := r.nodes[0].Keys.OpenVisitor(b.Visitor, r.hand.Now())
	if err != nil {
		r.t.Fatalf("visitor token: %v", err)
	}
	return v.ID
}

// B008
func TestOneVisitorStandsInManyLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.Mode = queue.ModeOn; p.InflowPerSecond = 0 })
	c := r.browser()
	for i := range 60 {
		item := fmt.Sprint("sku-", i)
		r.browser().check(item)
		if b := c.want(c.check(item), "wait/queue_on"); b.position() != 2 {
			t.Fatalf("%s: position %d", item, b.position())
		}
	}
	size := 0
	for name, value := range c.cookies {
		if !strings.HasPrefix(name, "sluice") {
			t.Errorf("cookie %s", name)
		}
		size += len(name) + len(value) + 2
	}
	if size >= 4096-120 { // beside it the attributes
		t.Errorf("the cookies take %d bytes", size)
	}
	for i := range 60 {
		if b := c.status(fmt.Sprint("sku-", i)); b.verdict() != "wait/queue_on" || b.position() != 2 {
			t.Errorf("sku-%d: %d %s", i, b.status, b.raw)
		}
	}
}

func TestAServerAsksForItsUser(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, mode(queue.ModeOn))
	r.browser().check("sku-1")
	server := r.app().with("Authorization", "Bearer "+serviceToken)
	first := server.want(server.get("/v1/items/sku-1/check?user=kim%40shop"), "wait/queue_on")
	again := server.at(1).want(server.at(1).get("/v1/items/sku-1/check?user=kim%40shop"), "wait/queue_on")
	if first.position() != 2 || again.position() != 2 || r.visitor(first) != r.visitor(again) {
		t.Errorf("one user, two places: %s %s", first.raw, again.raw)
	}
	other := server.want(server.get("/v1/items/sku-1/check?user=lee"), "wait/queue_on")
	// The token of another user, sent along, does not make one the other.
	mixed := server.with("Sluice-Visitor", other.Visitor, "Sluice-Ticket", other.ticket()).get("/v1/items/sku-1/status?user=kim%40shop")
	if mixed.position() != 2 {
		t.Errorf("kim with lee's token stands at %d", mixed.position())
	}
	if w := server.do(http.MethodGet, "/v1/items/sku-1/check?user=kim%40shop"); w.Header().Get("Set-Cookie") != "" {
		t.Error("a server got a cookie")
	}
	for name, tc := range map[string]struct {
		c      *client
		query  string
		status int
		code   string
	}{
		"no token":         {r.app(), "user=kim", 403, "user_needs_service_token"},
		"a wrong token":    {r.app().with("Authorization", "Bearer nonsense"), "user=kim", 403, "user_needs_service_token"},
		"another scheme":   {r.app().with("Authorization", "Basic "+serviceToken), "user=kim", 403, "user_needs_service_token"},
		"an empty user":    {server, "user=", 400, "invalid_parameter"},
		"a long user":      {server, "user=" + strings.Repeat("x", 257), 400, "invalid_parameter"},
		"no token, no say": {r.app(), "user=", 403, "user_needs_service_token"},
	} {
		if b := tc.c.get("/v1/items/sku-1/check?" + tc.query); b.status != tc.status || b.code != tc.code {
			t.Errorf("%s: %d %s", name, b.status, b.raw)
		}
	}
	if n := r.counts("sku-1").Waiting; n != 3 {
		t.Errorf("%d wait", n)
	}
}

// B151
func TestAnItemKnownToBeOffTurnsOnAndOffAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, nil)
	ask := func(want string) {
		t.Helper()
		for i := range 3 {
			c := r.browser().at(i)
			c.want(c.check("sku-1"), want)
		}
	}
	for range 40 {
		ask("pass/queue_off")
	}
	if len(r.store.Items()) != 0 {
		t.Error("asking made a queue")
	}
	r.activate("sku-1")
	ask("wait/queue_on")
	generation := r.header("sku-1").Generation
	r.do("sku-1", queue.SwitchOrder{Action: queue.Deactivate})
	for range 3 {
		ask("pass/queue_off")
	}
	c := r.browser()
	if b := c.check("sku-1"); b.Queue.Generation != int64(generation) || b.Queue.State != "off" {
		t.Errorf("after: %s", b.raw)
	}
	if b := c.check("never-heard-of"); b.Queue.State != "off" || b.Queue.Generation != 0 {
		t.Errorf("unknown: %s", b.raw)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, mode(queue.ModeOn))
	c := r.browser()
	c.want(c.check("sku-1"), "wait/queue_on")
	if h := r.header("sku-1"); h.Cause != queue.ByMode || h.State != queue.Open {
		t.Errorf("header %+v", h)
	}
	d := r.browser().at(1)
	if b := d.want(d.check("sku-1"), "wait/queue_on"); b.position() != 2 || b.Queue.Generation != int64(r.header("sku-1").Generation) {
		t.Errorf("second node: %s", b.raw)
	}
	r.policy("sku-1", mode(queue.ModeOff))
	c.want(c.check("sku-1"), "pass/queue_off")
}

func TestAGlobTurnsOnNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, mode(queue.ModeOn))
	board := r.nodes[0].board
	for i := range mostByGlob { // of operators, and not of the glob
		board.Put(queue.Header{Item: queue.Item(fmt.Sprint("x", i)), State: queue.Open, Version: 1, Cause: queue.ByOperator})
	}
	c := r.browser()
	c.want(c.check("made-up-1"), "wait/queue_on")
	for i := range mostByGlob {
		board.Put(queue.Header{Item: queue.Item(fmt.Sprint("x", i)), State: queue.Open, Version: 2, Cause: queue.ByMode})
	}
	r.pass(recountEvery)
	c.want(c.check("made-up-2"), "pass/queue_off")
	r.policy("named", mode(queue.ModeOn))
	c.want(c.check("named"), "wait/queue_on")
	r.policy("tickets-*", mode(queue.ModeOn)) // another glob has a share of its own
	c.want(c.check("tickets-1"), "wait/queue_on")
}

func TestTheSwitchOverAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 10 })
	r.activate("on")
	r.pass(time.Second)
	inside := r.browser()
	inside.want(inside.check("on"), "pass/admitted")
	waiting := r.browser()
	for range 12 {
		waiting = r.browser()
		waiting.check("on")
	}
	recent := r.browser()
	recent.check("off")

	r.all(settings.Pass)
	for _, item := range []string{"on", "off"} {
		c := r.browser()
		c.want(c.check(item), "pass/queue_off")
	}
	waiting.want(waiting.status("on"), "pass/queue_off")

	r.all(settings.Hold)
	inside.want(inside.check("on"), "pass/pass_valid")
	waiting.want(waiting.status("on"), "wait/paused")
	c := r.browser()
	if b := c.want(c.check("on"), "wait/paused"); b.position() == 0 || b.Place.EtaSeconds != nil {
		t.Errorf("a newcomer behind a line: %s", b.raw)
	}
	c = r.browser()
	if b := c.want(c.check("off"), "wait/paused"); b.position() != 0 || b.Place.PollAfterMS < 1000 {
		t.Errorf("a newcomer where there is no line: %s", b.raw)
	}
	recent.want(recent.check("off"), "pass/queue_off")

	r.all(settings.Normal)
	c.want(c.check("off"), "pass/queue_off")
}
