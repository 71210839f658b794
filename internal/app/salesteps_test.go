package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/postgrestest"
)

// message is one try of an event at a receiver.
type message struct {
	ID, Type, Subject string
	Time              time.Time
	Data              map[string]any
}

// hook takes what a webhook brings, and keeps it.
type hook struct {
	mu  sync.Mutex
	got []message
}

// receive registers a webhook that leads to one. It refuses the tries that the test refuses.
func (r *rig) receive(refuses func(m message, before []message) bool) *hook {
	r.t.Helper()
	to := &hook{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var m message
		body, _ := io.ReadAll(req.Body)
		if err := json.Unmarshal(body, &m); err != nil || m.ID != req.Header.Get("webhook-id") {
			r.t.Errorf("message %q of %s: %v", req.Header.Get("webhook-id"), body, err)
		}
		to.mu.Lock()
		defer to.mu.Unlock()
		refused := refuses != nil && refuses(m, to.got)
		if to.got = append(to.got, m); refused {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	r.t.Cleanup(server.Close)
	r.must("POST", "/webhooks", map[string]any{"url": server.URL})
	return to
}

// of gives the tries of a type so far, or of those that begin with it.
func (to *hook) of(typ, subject string) (all []message) {
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, m := range to.got {
		if strings.HasPrefix(m.Type, typ) && m.Subject == subject {
			all = append(all, m)
		}
	}
	return all
}

// millis writes an instant as the API does.
func millis(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// B044: five nodes that all schedule, let in and administer do each step of a sale once. The generation changes once,
// whoever listens is told of each step once, also where a message comes again, and the inflow is that of one sale.
func TestASaleOverFiveNodesThatDoEverything(t *testing.T) {
	t.Parallel()
	rampAfter, stays := 2*time.Second, 2500*time.Millisecond
	if full {
		rampAfter, stays = time.Minute, 10*time.Second
	}
	all := config.Roles{Gate: true, Scheduler: true, Admin: true}
	r := newRigOver(t, postgrestest.Shared(t), all, all, all, all, all)
	to := r.receive(func(m message, before []message) bool {
		return m.Type == "sale.prequeue" && !slices.ContainsFunc(before, func(b message) bool { return b.Type == m.Type })
	})
	opens := time.Now().Add(3 * time.Second).Truncate(time.Millisecond)
	closes := opens.Add(rampAfter + stays)
	r.must("PUT", "/sales/drop", map[string]any{
		"name": "Drop", "item": "sku-1", "prequeue_at": millis(opens.Add(-1500 * time.Millisecond)), "opens_at": millis(opens), "closes_at": millis(closes),
		"overrides": map[string]any{"inflow_per_second": 50, "claim_seconds": 3600},
		"ramp":      []any{map[string]any{"after_seconds": 0, "inflow_per_second": 10}, map[string]any{"after_seconds": rampAfter.Seconds(), "inflow_per_second": 50}},
	})
	r.everywhere(5*time.Second, "sku-1", "prequeue")
	r.fill("sku-1", 1500)
	generations := map[any]bool{}
	type sample struct {
		at       time.Time
		admitted float64
	}
	samples := []sample{{opens, 0}}
	for time.Now().Before(closes) {
		books, live := r.books("sku-1")
		generations[live["generation"]] = true
		samples = append(samples, sample{time.Now(), books["admitted"]})
		until(50 * time.Millisecond)
	}
	r.everywhere(2*time.Second, "sku-1", "closed")
	books, live := r.books("sku-1")
	samples, generations[live["generation"]] = append(samples, sample{time.Now(), books["admitted"]}), true
	if len(generations) != 1 {
		t.Errorf("generations %v", generations)
	}
	for i, a := range samples {
		for _, b := range samples[i+1:] {
			rate, slow := 50., min(max(0, opens.Add(rampAfter).Sub(a.at).Seconds()), b.at.Sub(a.at).Seconds())
			if most := rate*(b.at.Sub(a.at).Seconds()-slow) + 10*slow + rate + 1; b.admitted-a.admitted > most {
				t.Fatalf("%v let in within %v, %v after the opening; want %v at most", b.admitted-a.admitted, b.at.Sub(a.at), a.at.Sub(opens), most)
			}
		}
	}
	if least := 10*rampAfter.Seconds() + 50*stays.Seconds() - 75; books["admitted"] < least {
		t.Errorf("%v let in, want %v", books["admitted"], least)
	}
	r.eventually(20*time.Second, "the end is told", func() bool { return len(to.of("sale.closed", "sku-1")) > 0 })
	for typ, tries := range map[string]int{"sale.prequeue": 2, "sale.opened": 1, "sale.closed": 1, "queue.activated": 1} {
		got := to.of(typ, "sku-1")
		ids := map[string]bool{}
		for _, m := range got {
			ids[m.ID] = true
		}
		if len(got) != tries || len(ids) != 1 {
			t.Errorf("%s came %d times under %d ids, want %d tries of one", typ, len(got), len(ids), tries)
		}
	}
	for i := range r.nodes {
		if rows, _ := r.must("GET", "/activations?item=sku-1", nil)["activations"].([]any); len(rows) != 1 {
			t.Errorf("node %d has %d rows of history", i, len(rows))
		}
	}
}

// B058: a sale that is deleted a moment before its time leaves nothing behind, and another one that is put forward opens
// at its new time.
func TestADeletedSaleAndOneThatIsPutForward(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	to := r.receive(nil)
	begun := time.Now().Truncate(time.Millisecond)
	plan := func(id string, after time.Duration) {
		r.must("PUT", "/sales/"+id, map[string]any{
			"name": id, "item": "sku-" + id, "opens_at": millis(begun.Add(after)), "closes_at": millis(begun.Add(after + time.Hour)), "overrides": map[string]any{"inflow_per_second": 0},
		})
	}
	plan("a", 4*time.Second)
	plan("b", 8*time.Second)
	until(time.Until(begun.Add(3500 * time.Millisecond)))
	r.must("DELETE", "/sales/a", nil)
	until(time.Until(begun.Add(5 * time.Second)))
	opens := 7 * time.Second
	plan("b", opens)
	for i := 0; time.Since(begun) < opens-50*time.Millisecond; i++ {
		for _, item := range []string{"sku-a", "sku-b"} {
			if a := r.visitor().check(i%3, item); a.Reason != "queue_off" {
				t.Fatalf("%s after %v: %s", item, time.Since(begun), a.Reason)
			}
		}
		until(50 * time.Millisecond)
	}
	r.everywhere(time.Until(begun.Add(opens+time.Second)), "sku-b", "queue_on")
	r.eventually(5*time.Second, "the opening is told", func() bool { return len(to.of("sale.opened", "sku-b")) == 1 })
	r.everywhere(time.Second, "sku-a", "queue_off")
	if told := append(to.of("sale.", "sku-a"), to.of("queue.", "sku-a")...); len(told) > 0 {
		t.Errorf("of the deleted one is told %v", told)
	}
	if rows, _ := r.must("GET", "/activations?item=sku-a", nil)["activations"].([]any); len(rows) > 0 {
		t.Errorf("the deleted one stands in the history: %v", rows)
	}
}

// B056: a machine sleeps through a sale, or through its opening. What is over by then does not happen, is told once and
// stands in the history; what is still on opens at once, and closes when it was to. Whoever is told sees both times.
func TestAMachineThatSleepsThroughASale(t *testing.T) {
	t.Parallel()
	unit := time.Second
	if full {
		unit = 10 * time.Second
	}
	for _, c := range []struct {
		name  string
		wakes time.Duration
		opens bool
	}{{"the whole of it", 8 * unit, false}, {"the opening alone", 4*unit + unit/2, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 0)
			r.startProcess(0)
			to := r.receive(nil)
			begun := time.Now().Truncate(time.Millisecond)
			opens, closes := begun.Add(3*unit), begun.Add(6*unit)
			r.must("PUT", "/sales/drop", map[string]any{"name": "Drop", "item": "sku-1", "opens_at": millis(opens), "closes_at": millis(closes)})
			signal := func(at time.Duration, s syscall.Signal) {
				until(time.Until(begun.Add(at)))
				if err := r.nodes[0].child.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			signal(unit, syscall.SIGSTOP)
			signal(c.wakes, syscall.SIGCONT)
			woken := time.Now()
			state := func() string { return fmt.Sprint(r.must("GET", "/items/sku-1", nil)["state"]) }
			planned := func(m message) bool {
				return m.Data["sale"] == "drop" && m.Data["opens_at"] == millis(opens) && m.Data["closes_at"] == millis(closes) && m.Data["prequeue_at"] == nil
			}
			if c.opens {
				r.eventually(2*time.Second, "it opens", func() bool { return state() == "open" })
				r.eventually(time.Until(closes)+time.Second, "it closes", func() bool { return state() == "closed" })
				if early := time.Until(closes); early > 0 {
					t.Errorf("closed %v too early", early)
				}
				r.eventually(5*time.Second, "both are told", func() bool { return len(to.of("sale.", "sku-1")) == 2 })
				for typ, at := range map[string]time.Time{"sale.opened": woken, "sale.closed": closes} {
					m := to.of(typ, "sku-1")
					if len(m) != 1 || !planned(m[0]) || m[0].Time.Before(at.Add(-time.Second)) || m[0].Time.After(at.Add(2*time.Second)) {
						t.Errorf("told of %s: %v", typ, m)
					}
				}
				return
			}
			var told []message
			r.eventually(20*time.Second, "it is told that it was missed", func() bool {
				if s := state(); s != "off" {
					t.Fatalf("it is %s", s)
				}
				told = to.of("", "sku-1")
				return len(told) > 0
			})
			if len(told) != 1 || told[0].Type != "sale.missed" || !planned(told[0]) || told[0].Time.Before(woken) {
				t.Errorf("told of %v", told)
			}
			rows, _ := r.must("GET", "/activations?item=sku-1", nil)["activations"].([]any)
			if len(rows) != 1 {
				t.Fatalf("the history shows %v", rows)
			}
			row := rows[0].(map[string]any)
			if row["reason"] != "missed" || row["generation"] != nil || row["activated_at"] != millis(opens) || row["cause"] != "sale" || row["books"] != nil {
				t.Errorf("the history shows %v", row)
			}
		})
	}
}
