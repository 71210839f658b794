package gate

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// B110
func TestWhoFindsTheLineFullComesInWhenPlacesBecomeFree(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, func(p *queue.Policy) { p.MaxWaiting = 100; p.InflowPerSecond = 0; p.AbandonSeconds = 30 })
	r.activate("sku-1")
	clients := make([]*client, 150)
	var wg sync.WaitGroup
	for i := range clients {
		clients[i] = r.browser().at(i % 3)
		wg.Go(func() { clients[i].check("sku-1") })
	}
	wg.Wait()
	var in, refused []*client
	for _, c := range clients {
		switch b := c.check("sku-1"); b.verdict() {
		case "wait/queue_on":
			in = append(in, c)
		case "reject/queue_full":
			if b.status != 200 || b.RetryAfterMS == nil || *b.RetryAfterMS < 1000 {
				t.Errorf("no hint when to ask again: %s", b.raw)
			}
			refused = append(refused, c)
		default:
			t.Fatalf("answer %s", b.raw)
		}
	}
	if len(in) != 100 || len(refused) != 50 {
		t.Fatalf("%d in line, %d refused", len(in), len(refused))
	}
	for _, c := range in[:30] {
		if w := c.do(http.MethodDelete, "/v1/items/sku-1/place"); w.Code != http.StatusNoContent {
			t.Fatalf("leave: %d", w.Code)
		}
		if b := c.status("sku-1"); b.code != "no_place" {
			t.Errorf("after leaving: %s", b.raw)
		}
	}
	for _, c := range refused[:30] {
		c.want(c.check("sku-1"), "wait/queue_on")
	}
	refused[30].want(refused[30].check("sku-1"), "reject/queue_full")
	for range 5 { // 20 fall silent
		r.pass(10 * time.Second)
		for _, c := range append(in[50:100:100], refused[:30]...) {
			if b := c.status("sku-1"); b.Action != "wait" {
				t.Fatalf("one who polls: %s", b.raw)
			}
		}
	}
	for _, c := range refused[30:] {
		c.want(c.check("sku-1"), "wait/queue_on")
	}
	if n := r.counts("sku-1").Waiting; n != 100 {
		t.Errorf("%d wait", n)
	}
}

// B098
func TestAnEstimateFollowsTheInflow(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 50; p.AbandonSeconds = 3600 })
	r.activate("sku-1")
	var mid *client
	for i := range 8000 {
		c := r.app()
		b := c.check("sku-1")
		if i == 4000-1 {
			mid = c.keep(b)
		}
	}
	if eta := *mid.status("sku-1").Place.EtaSeconds; eta < 72 || eta > 88 {
		t.Errorf("at 50/s: %d s", eta)
	}
	slow := 0.2
	r.do("sku-1", queue.SwitchOrder{Action: queue.SetInflow, Inflow: &slow})
	b := mid.status("sku-1")
	p := b.Place
	if float64(*p.EtaSeconds) < 0.8*float64(b.position())/slow || float64(*p.EtaSeconds) > 1.2*float64(b.position())/slow {
		t.Errorf("at 0.2/s: %s", b.raw)
	}
	if *p.EtaLowSeconds > *p.EtaSeconds || *p.EtaSeconds > *p.EtaHighSeconds {
		t.Errorf("band: %s", b.raw)
	}
	none := 0.0
	r.do("sku-1", queue.SwitchOrder{Action: queue.SetInflow, Inflow: &none})
	if b := mid.status("sku-1"); b.Place.EtaSeconds != nil || b.Place.EtaLowSeconds != nil {
		t.Errorf("at 0: %s", b.raw)
	}
}

// Positions far back come from a table: within 1 %, never growing, and without a store call a poll (quiet-far).
func TestPollsFromFarBackAreQuietAndTrue(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, func(p *queue.Policy) { p.InflowPerSecond = 40 })
	r.activate("sku-1")
	const n = 3000
	clients := make([]*client, n)
	shownLast := make([]int64, n)
	for i := range clients {
		c := r.app()
		b := c.check("sku-1")
		clients[i], shownLast[i] = c.keep(b), b.position()
	}
	for round := range 6 {
		r.pass(2 * time.Second)
		if round == 3 { // some in the middle leave
			for i := 1000; i < 2000; i += 5 {
				clients[i].do(http.MethodDelete, "/v1/items/sku-1/place")
				clients[i] = nil
			}
			r.pass(time.Second)
		}
		before, looks := r.store.calls.Load(), r.store.looks.Load()
		asked := 0
		for i, c := range clients {
			if c == nil || i < 1000 {
				continue
			}
			asked++
			b := c.at(round % 3).status("sku-1")
			if b.Action != "wait" {
				t.Fatalf("visitor %d: %s", i, b.raw)
			}
			standing, err := r.store.Find(t.Context(), "sku-1", r.visitor(b))
			if err != nil {
				t.Fatal(err)
			}
			pos, truth := b.position(), standing.Position
			if pos > shownLast[i] {
				t.Fatalf("visitor %d: %d grew to %d", i, shownLast[i], pos)
			}
			if d := pos - truth; d > truth/100+1 || -d > truth/100+1 {
				t.Fatalf("visitor %d: shown %d, stands at %d (exact %v)", i, pos, truth, b.Place.Exact)
			}
			if truth <= 200 && (pos != truth || !b.Place.Exact) {
				t.Fatalf("visitor %d near the head: shown %d, stands at %d", i, pos, truth)
			}
			shownLast[i] = pos
			clients[i] = c.keep(b)
		}
		calls := r.store.calls.Load() - before
		if near := int64(asked / 2); round < 3 && calls > near/5 || r.store.looks.Load()-looks > 3 {
			t.Errorf("round %d: %d of %d polls asked the store, %d tables", round, calls, asked, r.store.looks.Load()-looks)
		}
	}
}

func TestAPlaceEndedElsewhereIsNoticedAtThePollAfterNext(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.InflowPerSecond = 1 })
	r.activate("sku-1")
	var c *client
	for i := range 400 {
		v := r.app()
		if b := v.check("sku-1"); i == 399 {
			c = v.keep(b)
		}
	}
	r.pass(time.Second)
	b := c.want(c.status("sku-1"), "wait/queue_on")
	if _, err := r.store.End(t.Context(), "sku-1", queue.Ending{Kind: queue.Revoke, Visitor: r.visitor(b)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.pass(3 * time.Second)
		b = c.status("sku-1")
	}
	if b.code != "no_place" {
		t.Errorf("two polls later: %s", b.raw)
	}
}

func TestPrequeueShowsNoPositionBeforeTheDraw(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(p *queue.Policy) { p.Order = queue.Random; p.InflowPerSecond = 10 })
	opens := start.Add(10 * time.Minute)
	r.do("sku-1", queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale, OpensMS: opens.UnixMilli()})
	clients := make([]*client, 300)
	joined := make([]time.Time, len(clients))
	for i := range clients {
		c := r.browser()
		b := c.want(c.check("sku-1"), "wait/prequeue")
		if b.Place.Position != nil || b.Place.OpensAt == nil || !b.Place.OpensAt.Equal(opens) || b.Place.EtaSeconds == nil || *b.Place.EtaSeconds < 600 {
			t.Fatalf("before the draw: %s", b.raw)
		}
		clients[i], joined[i] = c, *b.Place.JoinedAt
	}
	r.pass(20 * time.Second)
	before := r.store.calls.Load()
	for i, c := range clients {
		b := c.at(i%2).want(c.at(i%2).status("sku-1"), "wait/prequeue")
		if b.Place.Position != nil || !b.Place.JoinedAt.Equal(joined[i]) {
			t.Fatalf("reloaded: %s", b.raw)
		}
	}
	if calls := r.store.calls.Load() - before; calls != 0 {
		t.Errorf("%d of 300 polls before a draw asked the store", calls)
	}
	r.do("sku-1", queue.SwitchOrder{Action: queue.Activate, Cause: queue.BySale})
	seen := map[int64]bool{}
	same := 0
	for i, c := range clients {
		b := c.want(c.status("sku-1"), "wait/queue_on")
		if seen[b.position()] = true; b.position() == int64(i+1) {
			same++
		}
		if b.Place.OpensAt != nil || !b.Place.JoinedAt.Equal(joined[i]) {
			t.Fatalf("open: %s", b.raw)
		}
	}
	if same > 20 || !seen[1] || !seen[200] {
		t.Errorf("%d of 300 drew the place of their arrival", same)
	}
}

func TestStoreFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		failure  queue.OnFailure
		newcomer string
		inLine   string
	}{
		{"open", queue.FailOpen, "pass/store_down", "pass/store_down"},
		{"closed", queue.FailClosed, "wait/store_down", "wait/store_down"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, func(p *queue.Policy) { p.OnStoreFailure = tc.failure; p.InflowPerSecond = 2 })
			r.activate("sku-1")
			r.pass(time.Second)
			inside := r.browser()
			inside.want(inside.check("sku-1"), "pass/admitted")
			r.browser().check("sku-1")
			r.browser().check("sku-1")
			waits := r.browser()
			waits.want(waits.check("sku-1"), "wait/queue_on")
			r.store.down.Store(true)

			inside.want(inside.check("sku-1"), "pass/pass_valid")
			off := r.browser()
			off.want(off.check("off"), "pass/queue_off")
			fresh := r.browser()
			if b := fresh.want(fresh.check("sku-1"), tc.newcomer); b.Action == "wait" && (b.Place.Position != nil || b.Place.EtaSeconds != nil || b.Place.PollAfterMS < 1000) {
				t.Errorf("a newcomer: %s", b.raw)
			}
			held := waits.want(waits.status("sku-1"), tc.inLine)
			if held.Action == "wait" && (held.position() == 0 || held.ticket() == "" || held.Place.Exact) {
				t.Errorf("one in line: %s", held.raw)
			}
			if w := waits.do(http.MethodDelete, "/v1/items/sku-1/place"); w.Code != http.StatusServiceUnavailable {
				t.Errorf("leaving: %d", w.Code)
			}
			r.store.down.Store(false)
			if b := waits.want(waits.status("sku-1"), "wait/queue_on"); b.position() == 0 {
				t.Errorf("afterwards: %s", b.raw)
			}
			// Having passed an outage is no proof of having been inside before.
			fresh.want(fresh.check("sku-1"), "wait/queue_on")
		})
	}
	t.Run("a node that has not heard of any queue knows no item to be off", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 1, func(p *queue.Policy) { p.OnStoreFailure = queue.FailClosed }, func(o *Options) { o.Synced = func() bool { return false } })
		r.store.down.Store(true)
		c := r.browser()
		c.want(c.check("sku-1"), "wait/store_down")
	})
}

// A call that fails while the store counts as up is answered like an outage, and says nothing of why.
func TestAFailedCallIsAnOutageOfThatRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil, func(o *Options) { o.StoreUp = func() bool { return true } })
	r.activate("sku-1")
	r.store.down.Store(true)
	c := r.browser()
	c.want(c.check("sku-1"), "pass/store_down")
}

// A table that cannot be had is no reason to let a line pass: the place is as last shown.
func TestAFailedTableKeepsTheLineWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 1 }, func(o *Options) { o.StoreUp = func() bool { return true } })
	r.activate("sku-1")
	var c *client
	for i := range 400 {
		v := r.app()
		if b := v.check("sku-1"); i == 399 {
			c = v.keep(b)
		}
	}
	r.pass(2 * time.Second)
	r.store.down.Store(true)
	for range 3 {
		if b := c.want(c.status("sku-1"), "wait/queue_on"); b.position() != 400 || b.Place.Exact {
			t.Errorf("without a table: %s", b.raw)
		}
	}
	r.store.down.Store(false)
	r.pass(time.Second)
	if b := c.want(c.status("sku-1"), "wait/queue_on"); b.position() >= 400 {
		t.Errorf("with one again: %s", b.raw)
	}
}

// Invariant heals: whoever heals the store has not done so yet; nobody passes meanwhile.
func TestNobodyPassesWhileALostQueueIsNotHealed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 1 })
	r.activate("sku-1")
	r.browser().check("sku-1")
	c := r.browser()
	first := c.want(c.check("sku-1"), "wait/queue_on")
	r.nodes[0].Asks = forgetful{}
	again := c.want(c.status("sku-1"), "wait/queue_on")
	if again.position() != first.position() || again.ticket() == "" {
		t.Errorf("the place is not kept: %s", again.raw)
	}
	fresh := r.browser()
	fresh.want(fresh.check("sku-1"), "wait/queue_on")
}
