package app_test

import (
	"context"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

var connected = regexp.MustCompile(`connected_clients:(\d+)`)

// B134: a burst of which half is cut off after 5 ms, at a slow store that then goes away for a while, leaves no
// connection half read and none too many: soon after the store is back everybody is answered, and as who they are.
// Event streams that are open all the time hold no connection of the store.
func TestABurstThatIsCutOffDoesNotStarveTheStoresConnections(t *testing.T) {
	t.Parallel()
	people, burst, away := 150, 1500, 3*time.Second
	if full {
		people, burst, away = 500, 20_000, 2*time.Minute
	}
	r := newRigOf(t, 1, people)
	r.via = slowly(t, r.redis.Addr(), 20*time.Millisecond)
	r.start(1, nil)
	r.policy("sku-1", map[string]any{"inflow_per_second": 0, "abandon_seconds": 3600, "on_store_failure": "closed"})
	r.activate("sku-1")
	visitors, places := make([]*visitor, people), make([]int64, people)
	for k := range visitors {
		visitors[k] = r.visitor()
		places[k] = visitors[k].check(1, "sku-1").position()
		visitors[k].follow(t.Context(), 1, "sku-1")
	}
	storm := func() {
		var next atomic.Int64
		together(100, func(int) {
			for n := next.Add(1); n <= int64(burst); n = next.Add(1) {
				patience := 10 * time.Second
				if n%2 == 0 {
					patience = 5 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				req, err := http.NewRequestWithContext(ctx, "GET", "http://"+r.nodes[1].Addresses().Visitor+"/v1/items/sku-1/check", nil)
				if err == nil {
					v := visitors[int(n)%people]
					req.Header.Set("Sluice-Visitor", v.token)
					req.Header.Set("Sluice-Ticket", v.ticket)
					if resp, err := r.client.Do(req); err == nil {
						if resp.StatusCode != http.StatusOK {
							t.Errorf("answered %d", resp.StatusCode)
						}
						resp.Body.Close()
					}
				}
				cancel()
			}
		})
	}
	storm()
	r.redis.Pause()
	storm()
	until(away)
	r.redis.Resume()
	r.eventually(5*time.Second, "the store is used again", func() bool { return visitors[0].check(1, "sku-1").Reason == "queue_on" })
	for k, v := range visitors {
		if a := v.check(1, "sku-1"); a.Reason != "queue_on" || a.position() != places[k] {
			t.Fatalf("visitor %d: %s/%s at %d, was at %d", k, a.Action, a.Reason, a.position(), places[k])
		}
	}
	info, err := r.redis.Client().Info(t.Context(), "clients").Result()
	if err != nil {
		t.Fatal(err)
	}
	// Two nodes and this test: a pool each, one for pipelines, and some that follow changes.
	n, _ := strconv.Atoi(connected.FindStringSubmatch(info)[1])
	if most := 3 * (max(16, 10*runtime.GOMAXPROCS(0)) + 10 + 5); n > most {
		t.Errorf("%d connections of the store, want at most %d", n, most)
	}
}
