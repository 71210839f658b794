package telemetry

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// told is a step's report of an item in a generation.
func told(item queue.Item, g queue.Generation, c queue.Counts) queue.StepReport {
	return queue.StepReport{
		Header: queue.Header{Item: item, State: queue.Open, Generation: g, Epoch: int64(g), Inflow: 12.5}, Counts: c,
		NowMS: noon.UnixMilli(), Requests: -1,
	}
}

var limited = queue.Limits{Trigger: queue.Trigger{Requests: 500}, MaxActive: 200}

func numbered(i int) queue.Item { return queue.Item(fmt.Sprintf("sku-%03d", i)) }

func TestAStepsNumbersAreShown(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, noSources())
	r := told("sku-1", 1, queue.Counts{
		Waiting: 1, Running: 2, Reserved: 3, Joined: 40, Returned: 5, Restored: 4, Admitted: 30, Abandoned: 8, Left: 6,
		Carried: 7, Finished: 9, NoShow: 10, Revoked: 11,
	})
	r.Header.State, r.Requests = queue.Paused, 77
	r.Admitted = []queue.LetIn{{Score: noon.Add(-45 * time.Second).UnixMicro()}, {Score: 12 /* a lot */}, {Score: noon.Add(time.Second).UnixMicro()}}
	m.Stepped(r, limited, 30*time.Millisecond, noon, nil)
	p := scrape(t, m)
	for name, want := range map[string]float64{
		"sluice_queue_state": 3, "sluice_waiting": 1, "sluice_running": 2, "sluice_reserved": 3,
		"sluice_joined_total": 40, "sluice_admitted_total": 30, "sluice_finished_total": 9, "sluice_no_show_total": 10, "sluice_restored_total": 4,
		"sluice_item_window_requests": 77, "sluice_trigger_requests": 500, "sluice_inflow_per_second": 12.5, "sluice_max_active_users": 200,
	} {
		p.is(t, name+`{item="sku-1"}`, want)
	}
	p.is(t, `sluice_left_total{item="sku-1",reason="abandoned"}`, 8)
	p.is(t, `sluice_left_total{item="sku-1",reason="left"}`, 6)
	p.is(t, "sluice_wait_seconds_count", 2)
	p.is(t, "sluice_wait_seconds_sum", 45)
	p.is(t, `sluice_wait_seconds_bucket{le="30.0"}`, 1)
	p.is(t, `sluice_wait_seconds_bucket{le="60.0"}`, 2)
	p.is(t, "sluice_mover_lag_seconds_count", 1)
	p.is(t, `sluice_mover_lag_seconds_bucket{le="0.025"}`, 0)
	p.is(t, `sluice_mover_lag_seconds_bucket{le="0.05"}`, 1)
}

func TestTrafficThatWasNotMeasuredHereIsThatOfTheLastLook(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, noSources())
	r := told("sku-1", 1, queue.Counts{})
	r.Requests = 9
	m.Stepped(r, limited, 0, noon, nil)
	r.Requests = -1
	m.Stepped(r, limited, 0, noon, nil)
	scrape(t, m).is(t, `sluice_item_window_requests{item="sku-1"}`, 9)
}

func TestCountersGoOnOverGenerations(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, noSources())
	for _, tc := range []struct {
		name       string
		generation queue.Generation
		epoch      int64
		admitted   int64
		want       float64
	}{
		{"the first generation", 1, 1, 10, 10},
		{"goes on", 1, 1, 15, 15},
		{"the next one has new books", 2, 2, 3, 18},
		{"that go on too", 2, 2, 4, 19},
		{"a loss of the store begins them anew", 2, 9, 0, 19},
		{"and they go on", 2, 9, 6, 25},
		{"a third generation that is empty", 3, 10, 0, 25},
	} {
		r := told("sku-1", tc.generation, queue.Counts{Admitted: tc.admitted})
		r.Header.Epoch = tc.epoch
		m.Stepped(r, queue.Limits{}, 0, noon, nil)
		if got := scrape(t, m).samples[`sluice_admitted_total{item="sku-1"}`]; got != tc.want {
			t.Errorf("%s: %g, want %g", tc.name, got, tc.want)
		}
	}
}

func TestTheItemsOfAnotherNodeAreNotShown(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, noSources())
	m.Stepped(told("stale", 1, queue.Counts{Waiting: 1}), queue.Limits{}, 0, noon, nil)
	m.Stepped(told("theirs", 1, queue.Counts{Waiting: 1}), queue.Limits{}, 0, noon.Add(time.Minute), nil)
	m.Stepped(told("here", 1, queue.Counts{Waiting: 1}), queue.Limits{}, 0, noon.Add(time.Minute), nil)
	m.Keep(noon.Add(time.Minute), func(item queue.Item) bool { return item != "theirs" })
	if got := scrape(t, m).of("sluice_waiting"); len(got) != 2 || got[`item="here"`] != 1 || got[`item="_other"`] != 0 {
		t.Errorf("%v", got)
	}
}

func TestTheItemLabelIsBounded(t *testing.T) { // bounded
	t.Parallel()
	m := newMetrics(t, noSources())
	for i := range 150 {
		m.Stepped(told(numbered(i), 1, queue.Counts{Waiting: int64(i), Joined: 1000, Left: 1, Abandoned: 2}), queue.Limits{}, 0, noon, nil)
	}
	p := scrape(t, m)
	waiting := p.of("sluice_waiting")
	if len(waiting) != 101 {
		t.Fatalf("%d series", len(waiting))
	}
	for i := range 150 {
		if _, shown := waiting[fmt.Sprintf("item=%q", numbered(i))]; shown != (i >= 50) {
			t.Errorf("%s: shown %v; the longest lines are", numbered(i), shown)
		}
	}
	if got := waiting[`item="_other"`]; got != 49*50/2 {
		t.Errorf("the others: %g", got)
	}
	for _, name := range []string{
		"sluice_queue_state", "sluice_running", "sluice_reserved", "sluice_joined_total", "sluice_admitted_total", "sluice_finished_total",
		"sluice_no_show_total", "sluice_restored_total", "sluice_item_window_requests", "sluice_trigger_requests", "sluice_inflow_per_second",
	} {
		if got := p.of(name); len(got) != 101 {
			t.Errorf("%s: %d series", name, len(got))
		}
	}
	if got := p.of("sluice_left_total"); len(got) != 202 {
		t.Errorf("left: %d series", len(got))
	}
}

func TestWhatHappensToTheOthersIsCountedAsTheirs(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, noSources())
	all := func(joined int64) map[string]float64 {
		for i := range 150 {
			m.Stepped(told(numbered(i), 1, queue.Counts{Waiting: int64(i), Joined: joined}), queue.Limits{}, 0, noon, nil)
		}
		return scrape(t, m).of("sluice_joined_total")
	}
	before := all(1000)
	now := all(1010)
	for labels, v := range now {
		want := 10.0
		if labels == `item="_other"` {
			want = 50 * 10
		}
		if came := v - before[labels]; came != want {
			t.Errorf("%s: %g came, want %g", labels, came, want)
		}
	}
}

// TestNoCounterEverGoesDown: whatever the lines do, so that items come among those with series of their own and leave
// them. A counter that goes down is read as one that has begun anew, and all of it as what happened since.
func TestNoCounterEverGoesDown(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, noSources())
	draw := rand.New(rand.NewPCG(1, 2))
	books, generation := map[queue.Item]queue.Counts{}, map[queue.Item]queue.Generation{}
	last := map[string]float64{}
	var joined int64
	for round := range 20 {
		for i := range 150 {
			item := numbered(i)
			c := books[item]
			if draw.IntN(20) == 0 {
				generation[item]++
				c = queue.Counts{}
			}
			came := draw.Int64N(10)
			joined += came
			c.Joined, c.Abandoned, c.Waiting = c.Joined+came, c.Abandoned+came/2, draw.Int64N(1000)
			books[item] = c
			m.Stepped(told(item, generation[item], c), queue.Limits{}, 0, noon, nil)
		}
		p := scrape(t, m)
		for _, name := range []string{"sluice_joined_total", "sluice_left_total"} {
			for labels, v := range p.of(name) {
				if v < last[name+labels] {
					t.Fatalf("round %d: %s{%s} went from %g to %g", round, name, labels, last[name+labels], v)
				}
				last[name+labels] = v
			}
		}
	}
	sum := m.others.Joined
	for _, n := range m.items {
		sum += n.books.Joined
	}
	if sum != joined {
		t.Errorf("%d in all series, want %d: each is counted once", sum, joined)
	}
}
