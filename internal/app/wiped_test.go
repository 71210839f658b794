package app_test

import (
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
	r.eventually(3*time.Second, "all are counted", func() bool { return r.must("GET", "/items/sku-1", nil)["waiting"] == float64(3) })
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
