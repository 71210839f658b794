package app_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// checks sends n checks of new visitors, on some connections at once.
func (r *rig) checks(node int, item string, n int, header ...string) {
	r.t.Helper()
	const at = 32
	together(at, func(k int) {
		for i := k; i < n; i += at {
			req, err := http.NewRequest("GET", "http://"+r.nodes[node].Addresses().Visitor+"/v1/items/"+item+"/check", nil)
			if err != nil {
				r.t.Error(err)
				return
			}
			for h := 0; h+1 < len(header); h += 2 {
				req.Header.Set(header[h], header[h+1])
			}
			resp, err := r.client.Do(req)
			if err != nil {
				r.t.Error(err)
				return
			}
			resp.Body.Close()
		}
	})
}

func (r *rig) traffic(item string) float64 {
	r.t.Helper()
	t, _ := r.must("GET", "/items/"+item, nil)["traffic"].(map[string]any)
	n, _ := t["requests"].(float64)
	return n
}

// B017: a burst just below the trigger leaves the queue off and is all counted; one just above turns it on, once.
func TestABurstIsCountedToTheLast(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*rig{"redis": newRig(t, 2), "memory": newMemoryRig(t)} {
		t.Run(name, func(t *testing.T) {
			r.checks(0, "below", 490)
			r.eventually(3*time.Second, "all are counted", func() bool { n := r.traffic("below"); return n >= 485 && n <= 495 })
			if live := r.must("GET", "/items/below", nil); live["state"] != "off" {
				t.Errorf("state %v at 490 of 500", live["state"])
			}
			r.checks(len(r.nodes)-1, "above", 510)
			r.eventually(300*time.Millisecond, "the queue is on", func() bool { return r.must("GET", "/items/above", nil)["state"] == "open" })
			r.eventually(3*time.Second, "one row of history", func() bool {
				rows, _ := r.must("GET", "/activations?item=above", nil)["activations"].([]any)
				return len(rows) == 1
			})
			if rows, _ := r.must("GET", "/activations?item=below", nil)["activations"].([]any); len(rows) != 0 {
				t.Errorf("history of what was never on: %v", rows)
			}
		})
	}
}

// B118, B113: looks count nothing, also through authorize.
func TestLooksAreNoTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for _, h := range [][2]string{
		{"Sec-Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"Purpose", "prefetch"}, {"X-Moz", "prefetch"},
		{"Next-Router-Prefetch", "1"},
	} {
		r.checks(0, "sku-1", 120, h[0], h[1])
	}
	until(1200 * time.Millisecond) // counts are flushed each second
	if live := r.must("GET", "/items/sku-1", nil); live["state"] != "off" || r.traffic("sku-1") != 0 {
		t.Errorf("after 600 prefetches: state %v, traffic %v", live["state"], r.traffic("sku-1"))
	}
}

// listen opens the event stream and hears of a place or a pass.
func (v *visitor) listen(ctx context.Context, i int, item string) error {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+v.r.nodes[i].Addresses().Visitor+"/v1/items/"+item+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Sluice-Visitor", v.token)
	req.Header.Set("Sluice-Ticket", v.ticket)
	resp, err := v.r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			return nil
		}
	}
	return fmt.Errorf("stream of %d ended without an event", resp.StatusCode)
}

// B127: those who wait keep nothing on: polls are no traffic, and a quiet queue is released, once.
func TestWhoeverWaitsKeepsNoQueueOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.policy("sku-1", map[string]any{
		"trigger_requests": 50, "trigger_window_seconds": 2, "release_after_seconds": 1, "inflow_per_second": 20,
	})
	visitors := make([]*visitor, 100)
	for k := range visitors {
		visitors[k] = r.visitor()
		visitors[k].check(k%2, "sku-1")
	}
	r.eventually(time.Second, "the queue is on", func() bool { return r.must("GET", "/items/sku-1", nil)["state"] == "open" })
	var in atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	together(len(visitors), func(k int) {
		for ctx.Err() == nil {
			// By polls, by a stream that is opened again and again, and by reloads of the page.
			var a answer
			var err error
			switch k % 3 {
			case 0:
				a, err = visitors[k].call(k%2, "GET", "/v1/items/sku-1/status")
			case 1:
				if err = visitors[k].listen(ctx, k%2, "sku-1"); err == nil {
					a, err = visitors[k].call(k%2, "GET", "/v1/items/sku-1/status")
				}
			case 2:
				a, err = visitors[k].call(k%2, "GET", "/wait/sku-1")
			}
			if err != nil || a.Status != http.StatusOK {
				t.Errorf("%d: %d, %v", k, a.Status, err)
				return
			}
			if a.Action == "pass" {
				in.Add(1)
				return
			}
			select { // twice as fast as told, and no traffic all the same
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	if in.Load() != int64(len(visitors)) {
		t.Fatalf("%d of %d let in", in.Load(), len(visitors))
	}
	r.eventually(6*time.Second, "the queue is released", func() bool { return r.must("GET", "/items/sku-1", nil)["state"] == "off" })
	r.eventually(3*time.Second, "one row of history says so", func() bool {
		rows, _ := r.must("GET", "/activations?item=sku-1", nil)["activations"].([]any)
		return len(rows) == 1 && rows[0].(map[string]any)["reason"] == "released"
	})
}

// B110: a full line takes new people as soon as there is room, and never one too many.
func TestAFullLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.policy("sku-1", map[string]any{"mode": "on", "inflow_per_second": 0, "max_waiting": 100})
	r.visitor().check(0, "sku-1")
	visitors := make([]*visitor, 150)
	var waiting, full atomic.Int64
	together(64, func(k int) {
		for i := k; i < len(visitors); i += 64 {
			visitors[i] = r.visitor()
			a, err := visitors[i].call(i%3, "GET", "/v1/items/sku-1/check")
			switch {
			case err != nil:
				t.Error(err)
			case a.Action == "wait":
				waiting.Add(1)
			case a.Reason == "queue_full" && a.Status == http.StatusOK && a.RetryAfterMS != nil:
				full.Add(1)
			default:
				t.Errorf("%d %s/%s, retry %v", a.Status, a.Action, a.Reason, a.RetryAfterMS)
			}
		}
	})
	if waiting.Load() != 99 || full.Load() != 51 {
		t.Errorf("%d wait beside the first and %d were refused, want 99 and 51", waiting.Load(), full.Load())
	}
	left := 0
	for _, v := range visitors {
		if v.ticket != "" && left < 30 {
			v.must(left%3, "DELETE", "/v1/items/sku-1/place")
			left++
		}
	}
	again := 0
	for i, v := range visitors {
		if v.ticket == "" && v.check(i%3, "sku-1").Action == "wait" {
			again++
		}
	}
	if again != 30 {
		t.Errorf("%d of the refused found a place after 30 had left", again)
	}
	if live := r.must("GET", "/items/sku-1", nil); live["waiting"] != float64(100) {
		t.Errorf("waiting %v, want 100", live["waiting"])
	}
}

// B130: whoever joins while the queue goes off passes, or has a place that is served.
func TestJoinsWhileTheQueueGoesOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.policy("sku-1", map[string]any{"inflow_per_second": 1000})
	rounds := 20
	if full {
		rounds = 500
	}
	for round := range rounds {
		r.must("POST", "/items/sku-1/activate", nil)
		visitors := make([]*visitor, 16)
		together(len(visitors)+1, func(k int) {
			if k == len(visitors) {
				switch round % 3 {
				case 0:
					r.must("POST", "/items/sku-1/deactivate", map[string]any{"confirm": "sku-1"})
				case 1:
					r.must("POST", "/items/sku-1/reset", map[string]any{"confirm": "sku-1"})
				case 2:
					r.must("POST", "/items/sku-1/drain", nil)
				}
				return
			}
			visitors[k] = r.visitor()
			if _, err := visitors[k].call(k%2, "GET", "/v1/items/sku-1/check"); err != nil {
				t.Error(err)
			}
		})
		for k, v := range visitors {
			r.eventually(3*time.Second, fmt.Sprintf("visitor %d of round %d passes", k, round), func() bool {
				a, err := v.call(k%2, "GET", "/v1/items/sku-1/check")
				return err == nil && (a.Action == "pass" || a.Reason == "closed")
			})
		}
		r.must("POST", "/items/sku-1/deactivate", map[string]any{"confirm": "sku-1"})
	}
}

// B152: no key of a live queue ends under it; after it is off everything of the item goes within ten minutes.
func TestKeysLiveAsLongAsTheirQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.activate("sku-1")
	inside := r.visitor()
	inside.check(0, "sku-1")
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": 1})
	r.eventually(3*time.Second, "one is inside", func() bool { return inside.status(0, "sku-1").Action == "pass" })
	inside.must(0, "POST", "/v1/items/sku-1/finish")
	r.visitor().check(0, "sku-1")
	until(1200 * time.Millisecond)
	client := r.redis.Client()
	keys, err := client.Keys(t.Context(), r.prefix+"{sku-1}:*").Result()
	if err != nil || len(keys) < 4 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	for _, k := range keys {
		ttl := client.PTTL(t.Context(), k).Val()
		if windowed := strings.HasSuffix(k, "traffic") || strings.HasSuffix(k, "newcomers") || strings.HasSuffix(k, "once"); ttl > 0 && !windowed {
			t.Errorf("%s ends in %v while its queue is on", k, ttl)
		}
	}
	r.must("POST", "/items/sku-1/deactivate", map[string]any{"confirm": "sku-1"})
	keys, err = client.Keys(t.Context(), r.prefix+"{sku-1}:*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if ttl := client.PTTL(t.Context(), k).Val(); (ttl < 0 || ttl > 10*time.Minute) && !strings.HasSuffix(k, "once") {
			t.Errorf("%s ends in %v after its queue went off", k, ttl)
		}
	}
}
