package admin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// saleAt is a sale that is on from so many seconds after the start on, for twenty.
func saleAt(item string, opens int, more string) string {
	at := func(s int) string { return start.Add(time.Duration(s) * time.Second).Format(time.RFC3339) }
	return fmt.Sprintf(`{"name":"Sale","item":%q,"opens_at":%q,"closes_at":%q%s}`, item, at(opens), at(opens+20), more)
}

// messages are what was queued for webhooks of one type, subject by subject.
func (f *fixture) messages(typ string) map[string]int {
	f.t.Helper()
	all, err := f.store.Deliveries(f.t.Context(), sqlstore.DeliveryFilter{Webhook: f.webhook(), Most: 1000})
	if err != nil {
		f.t.Fatal(err)
	}
	n := map[string]int{}
	for _, d := range all {
		if d.Type == typ {
			n[d.Subject]++
		}
	}
	return n
}

func (f *fixture) webhook() string {
	f.t.Helper()
	all, err := f.store.Webhooks(f.t.Context())
	if err != nil || len(all) != 1 {
		f.t.Fatal(all, err)
	}
	return all[0].ID
}

// What is over and never opened is told once, whichever admin node and however many of them look, and also by one that
// came later; what opened, what was turned off by hand, what a line's nodes saw while no admin node was there, and what a
// pattern names is not told.
func TestSalesThatAreMissedAreToldOfOnce(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		var f *fixture
		alone := func(o *Options) {
			if with != nil {
				with(o)
			}
			o.Settled = func(_ context.Context, marks []string) ([]bool, error) {
				seen := make([]bool, len(marks))
				for i, mark := range marks {
					seen[i] = mark == sale.Mark("elsewhere", start.Add(60*time.Second).UnixMilli())
				}
				return seen, nil
			}
		}
		f = newFixture(t, alone)
		f.do("POST", base+"/webhooks", `{"url":"https://93.184.216.34/"}`).want(t, 201, "")
		for id, body := range map[string]string{
			"missed": saleAt("missed", 60, ""), "opened": saleAt("opened", 60, ""), "by-hand": saleAt("by-hand", 60, ""), "elsewhere": saleAt("elsewhere", 60, ""),
			"pattern": saleAt("pattern-*", 60, ""), "later": saleAt("later", 300, ""), "often": saleAt("often", 60, `,"time_zone":"UTC","repeat":"* * * * *"`),
		} {
			f.do("PUT", base+"/sales/"+id, body).want(t, 201, "")
		}
		event := func(typ, id string, state queue.State) Event {
			h := queue.Header{
				Item: queue.Item(id), State: state, Generation: 1, Version: 1, ActivatedMS: start.UnixMilli(), Cause: queue.BySale, By: "Sale (" + sale.Mark(id, start.Add(60*time.Second).UnixMilli()) + ")",
			}
			return Event{Type: typ, Item: h.Item, Time: start, Header: &h}
		}
		for _, e := range []Event{event(SaleOpened, "opened", queue.Open), event(QueueReleased, "by-hand", queue.Off), event(SalePrequeue, "missed", queue.Prequeue)} {
			if err := f.record(t.Context(), record{event: e}); err != nil {
				t.Fatal(err)
			}
		}
		f.hand.Set(start.Add(89 * time.Second))
		first := missedSales{admin: f.Admin, since: start}
		tell := func(m *missedSales) {
			t.Helper()
			if err := m.tell(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		tell(&first)
		if got := f.messages(SaleMissed); len(got) != 0 {
			t.Fatalf("before anybody can know: %v", got)
		}
		listener := f.o.Events.subscribe(100)
		f.hand.Set(start.Add(100 * time.Second))
		var wg sync.WaitGroup
		for i := range 4 {
			m := &first
			if i > 0 {
				m = &missedSales{admin: f.Admin, since: start}
			}
			wg.Go(func() {
				for m.tell(t.Context()) != nil { // one writer at a time
					if t.Context().Err() != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		if got := f.messages(SaleMissed); len(got) != 2 || got["missed"] != 1 || got["often"] != 1 {
			t.Errorf("told of %v", got)
		}
		if n := len(listener.C); n != 2 {
			t.Errorf("%d events", n)
		}
		for range 2 {
			if e := <-listener.C; e.Item == "missed" && (e.Data["sale"] != "missed" || !time.Time(e.Data["opens_at"].(instant)).Equal(start.Add(60*time.Second))) {
				t.Errorf("%+v", e)
			}
		}
		rows := f.rows("?item=missed")
		if len(rows) != 1 {
			t.Fatalf("history %v", rows)
		}
		if row := rows[0].(map[string]any); row["reason"] != "missed" || row["generation"] != nil || row["activated_at"] != "2026-12-01T11:01:00.000Z" || row["by"] == "" {
			t.Errorf("history %v", row)
		}
		f.hand.Set(start.Add(2 * time.Hour)) // all were away: of what repeats the newest ten are told
		tell(&first)
		young := missedSales{admin: f.Admin, since: f.hand.Now()}
		tell(&young)
		f.hand.Add(time.Minute)
		tell(&first)
		tell(&young)
		if got := f.messages(SaleMissed); got["missed"] != 1 || got["later"] != 1 || got["often"] != 1+10+1 || len(got) != 3 {
			t.Errorf("told of %v", got)
		}
		if often, all := f.rows("?item=often"), f.rows(""); len(often) != 12 || len(all) < 12+2 {
			t.Errorf("%d rows of the one that repeats, %d in all", len(often), len(all))
		}
	})
}

// A store that cannot say what opened keeps a node from telling anything.
func TestNothingIsCalledMissedWhileNobodyKnows(t *testing.T) {
	t.Parallel()
	away := errors.New("the store is away")
	f := newFixture(t, func(o *Options) {
		o.Settled = func(context.Context, []string) ([]bool, error) { return nil, away }
	})
	f.do("POST", base+"/webhooks", `{"url":"https://93.184.216.34/"}`).want(t, 201, "")
	f.do("PUT", base+"/sales/missed", saleAt("missed", 60, "")).want(t, 201, "")
	f.hand.Add(time.Hour)
	m := missedSales{admin: f.Admin, since: start}
	if err := m.tell(t.Context()); !errors.Is(err, away) {
		t.Errorf("told: %v", err)
	}
	f.o.Settled = nil
	if err := m.tell(t.Context()); err != nil || f.messages(SaleMissed)["missed"] != 1 {
		t.Errorf("afterwards: %v, %v", err, f.messages(SaleMissed))
	}
}
