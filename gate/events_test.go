package gate

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// stream opens the events of an item and hands on its lines; closing ctx ends it.
func stream(t *testing.T, ctx context.Context, r *rig, c *client, item string) (*http.Response, <-chan string) {
	t.Helper()
	srv := httptest.NewServer(r.nodes[c.node].Handler())
	t.Cleanup(srv.Close)
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/v1/items/"+item+"/events", nil)
	req.Header = c.header.Clone()
	for k, v := range c.cookies {
		req.AddCookie(&http.Cookie{Name: k, Value: v})
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		defer resp.Body.Close()
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return resp, lines
}

// event waits for the next status event; false when the stream has ended.
func event(t *testing.T, lines <-chan string) (*body, bool) {
	t.Helper()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return nil, false
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				b := &body{raw: data}
				if err := json.Unmarshal([]byte(data), b); err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				return b, true
			}
		case <-time.After(time.Minute):
			t.Fatal("no event")
		}
	}
}

func TestEventsTellOfTheTurnWithoutClaimingIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 10; p.ClaimSeconds = 10 })
	r.activate("sku-1")
	c := r.browser()
	c.check("sku-1")
	resp, lines := stream(t, t.Context(), r, c, "sku-1")
	h := resp.Header
	if resp.StatusCode != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") || h.Get("X-Accel-Buffering") != "no" || h.Get("Cache-Control") != "no-store" || h.Get("Set-Cookie") != "" {
		t.Errorf("stream: %d %s", resp.StatusCode, h)
	}
	line := <-lines
	if ms, err := strconv.Atoi(strings.TrimPrefix(line, "retry: ")); err != nil || ms < 1000 || ms > 7000 {
		t.Errorf("first line %q", line)
	}
	if b, ok := event(t, lines); !ok || b.verdict() != "wait/queue_on" || b.position() != 1 || b.ticket() == "" {
		t.Fatalf("first event %+v", b)
	}
	r.pass(time.Second)
	b, ok := event(t, lines)
	if !ok || b.verdict() != "pass/admitted" || b.Pass != nil {
		t.Fatalf("event of the turn %+v", b)
	}
	if _, ok := event(t, lines); ok {
		t.Error("the stream goes on after the pass")
	}
	standing, _ := r.store.Find(t.Context(), "sku-1", r.visitor(b))
	if standing.Outcome != queue.Inside || standing.Admission.ClaimedMS != 0 {
		t.Errorf("the stream has claimed: %+v", standing)
	}
	c.want(c.status("sku-1"), "pass/admitted")
}

// B116: pages whose streams break together do not come back together.
func TestPagesComeBackSpreadOverSeconds(t *testing.T) {
	t.Parallel()
	const pages = 20_000 // two full nodes
	var inSecond [10]int
	least, most := time.Hour, time.Duration(0)
	for range pages {
		wait := comeBack()
		least, most = min(least, wait), max(most, wait)
		inSecond[wait/time.Second]++
	}
	if spread := most - least; spread < 5*time.Second {
		t.Errorf("they come back within %v", spread)
	}
	if n := slices.Max(inSecond[:]); n > 4000 {
		t.Errorf("%d come back within one second", n)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 0 }, func(o *Options) { o.MaxStreams = 2 })
	r.activate("sku-1")
	c := r.browser()
	c.check("sku-1")
	ctx, cancel := context.WithCancel(t.Context())
	_, first := stream(t, ctx, r, c, "sku-1")
	_, second := stream(t, t.Context(), r, c, "sku-1")
	event(t, first)
	event(t, second)
	b := c.get("/v1/items/sku-1/events")
	if b.status != http.StatusServiceUnavailable || b.code != "too_many_streams" || r.nodes[0].verdicts.shed != 1 {
		t.Errorf("a third: %d %s", b.status, b.raw)
	}
	cancel()
	for range first { //nolint:revive // until it has ended
	}
	for r.nodes[0].streams.Load() > 1 {
		runtime.Gosched()
	}
	_, third := stream(t, t.Context(), r, c, "sku-1")
	event(t, third)
	r.nodes[0].Drain()
	for _, lines := range []<-chan string{second, third} {
		if _, ok := event(t, lines); ok {
			t.Error("a stream outlives draining")
		}
	}
	stranger := r.browser()
	if b := stranger.get("/v1/items/sku-1/events"); b.status != 404 || b.code != "no_place" {
		t.Errorf("a stranger: %d %s", b.status, b.raw)
	}
}

func TestNoStreamsAtAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil, func(o *Options) { o.MaxStreams = NoStreams })
	r.activate("sku-1")
	c := r.browser()
	c.want(c.check("sku-1"), "wait/queue_on")
	if b := c.get("/v1/items/sku-1/events"); b.status != 503 || b.code != "too_many_streams" {
		t.Errorf("a stream: %d %s", b.status, b.raw)
	}
	c.want(c.status("sku-1"), "wait/queue_on")
}
