package app_test

import (
	"fmt"
	"testing"
	"time"
)

// B028: after the store was wiped three people who came microseconds apart stand as before, whoever of them asks first.
func TestAWipedStoreMovesNobodyByADigit(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.policy("sku-1", map[string]any{"inflow_per_second": 0})
	r.activate("sku-1")
	three := make([]*visitor, 3)
	together(3, func(k int) {
		three[k] = r.visitor()
		if _, err := three[k].call(k%2, "GET", "/v1/items/sku-1/check"); err != nil {
			t.Error(err)
		}
	})
	client, keys := r.redis.Client(), r.keyring()
	before := map[*visitor]int64{}
	for k, v := range three {
		before[v] = v.status(k%2, "sku-1").position()
		ticket, err := keys.OpenTicket("sku-1", v.ticket, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if score := client.ZScore(t.Context(), r.prefix+"{sku-1}:waiting", string(v.id())).Val(); int64(score) != ticket.Place.Score {
			t.Errorf("the ticket says %d, the store %.0f", ticket.Place.Score, score)
		}
	}
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for k := 2; k >= 0; k-- {
		r.eventually(3*time.Second, "the place is back", func() bool { return three[k].status(k%2, "sku-1").Action == "wait" })
	}
	r.eventually(3*time.Second, "all are counted", func() bool {
		for k, v := range three { // who was answered by a look at the head from before comes back by the next poll
			v.status(k%2, "sku-1")
		}
		return r.must("GET", "/items/sku-1", nil)["waiting"] == float64(3)
	})
	for k, v := range three {
		if a := v.status(k%2, "sku-1"); a.position() != before[v] {
			t.Errorf("visitor %d stands at %d, before at %d", k, a.position(), before[v])
		}
		ticket, err := keys.OpenTicket("sku-1", v.ticket, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if score := client.ZScore(t.Context(), r.prefix+"{sku-1}:waiting", string(v.id())).Val(); int64(score) != ticket.Place.Score {
			t.Errorf("after: the ticket says %d, the store %.0f", ticket.Place.Score, score)
		}
	}
}

// What has ended stays so after the store was wiped, at every node, also at those that knew nothing of it: places that
// were left, places whose turn was claimed, sessions that were finished and that an operator revoked.
func TestAWipedStoreGivesNobodyBackWhatHasEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.policy("sku-1", map[string]any{"inflow_per_second": 0})
	r.activate("sku-1")
	until(1100 * time.Millisecond) // marks are whole seconds: one of the very second of the activation would mean grace
	var left, claimed, finished, revoked, waits []*visitor
	for k, group := range []*[]*visitor{&claimed, &finished, &revoked, &left, &waits} {
		for range 4 {
			v := r.visitor()
			v.check(k%3, "sku-1")
			*group = append(*group, v)
		}
	}
	r.must("POST", "/items/sku-1/admit", map[string]any{"count": 12})
	for k, v := range append(append(append([]*visitor{}, claimed...), finished...), revoked...) {
		r.eventually(3*time.Second, "the turn has come", func() bool { return v.status(k%3, "sku-1").Action == "pass" })
	}
	for k := range 4 {
		left[k].must(k%3, "DELETE", "/v1/items/sku-1/place")
		finished[k].must(k%3, "POST", "/v1/items/sku-1/finish")
		r.must("DELETE", "/items/sku-1/visitors/"+string(revoked[k].id()), nil)
		claimed[k].passes = "" // lost
	}
	r.eventually(2*time.Second, "every node has heard of the passes", func() bool {
		for i := range r.nodes {
			for _, v := range append(append([]*visitor{}, finished...), revoked...) {
				if same := *v; same.status(i, "sku-1").Action == "pass" {
					return false
				}
			}
		}
		return true
	})
	if err := r.redis.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	gone := append(append(append(append([]*visitor{}, left...), claimed...), finished...), revoked...)
	// All ask at all nodes while the line is put back and the marks come, as they would by themselves.
	var amiss []string
	defer func() {
		if t.Failed() {
			t.Log(amiss)
		}
	}()
	r.eventually(5*time.Second, "who waits is back, and nobody else", func() bool {
		amiss = nil
		for k := range r.nodes {
			for n, v := range gone {
				if same := *v; same.status(k, "sku-1").Code != "no_place" {
					amiss = append(amiss, fmt.Sprintf("node %d: the place of %d of %d that ended", k, n, len(gone)))
				}
			}
			for n, v := range waits {
				if a := v.status(k, "sku-1"); a.Action != "wait" {
					amiss = append(amiss, fmt.Sprintf("node %d: %d who waits: %s/%s", k, n, a.Action, a.Reason))
				}
			}
		}
		if n, _ := r.books("sku-1"); n["waiting"] != 4 || n["running"] != 0 {
			amiss = append(amiss, fmt.Sprint(n))
		}
		return len(amiss) == 0
	})
	for k, v := range gone {
		if a := v.check(k%3, "sku-1"); a.Action != "wait" || a.position() < 5 {
			t.Errorf("one who comes anew stands at %d, before those who waited: %s/%s", a.position(), a.Action, a.Reason)
		}
	}
}
