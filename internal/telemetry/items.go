package telemetry

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/sluicehq/sluice/queue"
)

// itemNumbers are what the steps of one item told last.
type itemNumbers struct {
	header   queue.Header
	counts   queue.Counts
	books    queue.Counts // summed over generations: counters never go down
	base     queue.Counts // of the generations before this one
	requests float64
	trigger  int64
	at       time.Time
}

// Stepped takes over what a step of an item told. The node that steps an item shows its numbers, so that sums over
// nodes are true.
func (m *Metrics) Stepped(r queue.StepReport, trigger int64, lag time.Duration, now time.Time) {
	ctx := context.Background()
	m.lag.Record(ctx, lag.Seconds())
	for _, in := range r.Admitted {
		if at := queue.ScoreTime(in.Score); !at.IsZero() {
			m.wait.Record(ctx, max(0, time.UnixMilli(r.NowMS).Sub(at).Seconds()))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.items[r.Header.Item]
	if n == nil {
		n = &itemNumbers{}
		m.items[r.Header.Item] = n
	}
	if n.header.Generation != r.Header.Generation || n.header.Epoch != r.Header.Epoch {
		n.base = n.books
	}
	n.header, n.counts, n.trigger, n.at = r.Header, r.Counts, trigger, now
	if r.Requests >= 0 {
		n.requests = r.Requests
	}
	n.books = plus(n.base, r.Counts)
}

// Keep drops the numbers of items that are another node's to show, and of those that nobody has stepped since an
// instant.
func (m *Metrics) Keep(since time.Time, mine func(queue.Item) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for item, n := range m.items {
		if n.at.Before(since) || !mine(item) {
			delete(m.items, item)
		}
	}
}

func plus(a, b queue.Counts) queue.Counts {
	return queue.Counts{
		Joined: a.Joined + b.Joined, Returned: a.Returned + b.Returned, Restored: a.Restored + b.Restored,
		Admitted: a.Admitted + b.Admitted, Abandoned: a.Abandoned + b.Abandoned, Left: a.Left + b.Left,
		Carried: a.Carried + b.Carried, Finished: a.Finished + b.Finished, NoShow: a.NoShow + b.NoShow, Revoked: a.Revoked + b.Revoked,
	}
}

// perItem is a number of each item.
type perItem struct {
	name, help string
	counter    bool
	read       func(*itemNumbers) float64
}

var itemMetrics = []perItem{
	{"sluice_queue_state", "State of the item's queue: 0 off, 1 prequeue, 2 open, 3 paused, 4 closed.", false,
		func(n *itemNumbers) float64 { return float64(n.header.State) }},
	{"sluice_waiting", "Visitors in line.", false, func(n *itemNumbers) float64 { return float64(n.counts.Waiting) }},
	{"sluice_running", "Visitors let in whose claim or session has not ended.", false, func(n *itemNumbers) float64 { return float64(n.counts.Running) }},
	{"sluice_reserved", "Visitors known to be inside but not in running.", false, func(n *itemNumbers) float64 { return float64(n.counts.Reserved) }},
	{"sluice_finished", "Sessions that have ended.", true, func(n *itemNumbers) float64 { return float64(n.books.Finished) }},
	{"sluice_admitted", "Visitors let in.", true, func(n *itemNumbers) float64 { return float64(n.books.Admitted) }},
	{"sluice_joined", "New places.", true, func(n *itemNumbers) float64 { return float64(n.books.Joined) }},
	{"sluice_no_show", "Admissions that nobody claimed in time.", true, func(n *itemNumbers) float64 { return float64(n.books.NoShow) }},
	{"sluice_restored", "Places that came back by ticket after a loss of the store.", true, func(n *itemNumbers) float64 { return float64(n.books.Restored) }},
	{"sluice_item_window_requests", "Checks in the trigger's window, all nodes together.", false, func(n *itemNumbers) float64 { return n.requests }},
	{"sluice_trigger_requests", "Checks in the window that turn the queue on.", false, func(n *itemNumbers) float64 { return float64(n.trigger) }},
	{"sluice_inflow_per_second", "People let in per second, as set.", false, func(n *itemNumbers) float64 { return n.header.Inflow }},
}

func (m *Metrics) itemInstruments(meter metric.Meter) error {
	for _, p := range itemMetrics {
		var err error
		if p.counter {
			_, err = meter.Float64ObservableCounter(p.name, metric.WithDescription(p.help),
				metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
					m.observe(p.read, o)
					return nil
				}))
		} else {
			_, err = meter.Float64ObservableGauge(p.name, metric.WithDescription(p.help),
				metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
					m.observe(p.read, o)
					return nil
				}))
		}
		if err != nil {
			return err
		}
	}
	_, err := meter.Float64ObservableCounter("sluice_left", metric.WithDescription("Places that ended before admission."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			m.observe(func(n *itemNumbers) float64 { return float64(n.books.Abandoned) }, o, attribute.String("reason", "abandoned"))
			m.observe(func(n *itemNumbers) float64 { return float64(n.books.Left) }, o, attribute.String("reason", "left"))
			return nil
		}))
	return err
}

// observe shows a number for the items with the longest lines, and the sum of the others.
func (m *Metrics) observe(read func(*itemNumbers) float64, o metric.Float64Observer, more ...attribute.KeyValue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := make([]queue.Item, 0, len(m.items))
	for item := range m.items {
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b queue.Item) int {
		if d := m.items[b].counts.Waiting - m.items[a].counts.Waiting; d != 0 {
			return int(max(-1, min(1, d)))
		}
		return strings.Compare(string(a), string(b))
	})
	var other float64
	for i, item := range items {
		v := read(m.items[item])
		if i >= mostItems {
			other += v
			continue
		}
		o.Observe(v, metric.WithAttributes(append(more, attribute.String("item", string(item)))...))
	}
	if len(items) > mostItems {
		o.Observe(other, metric.WithAttributes(append(more, attribute.String("item", otherItem))...))
	}
}
