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
	books    queue.Counts // what happened while the item had series of its own, over all generations
	shown    bool         // it has series of its own; else what happens is the others'
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
		n = &itemNumbers{shown: len(m.items) < mostItems}
		m.items[r.Header.Item] = n
	}
	happened := r.Counts
	if n.header.Generation == r.Header.Generation && n.header.Epoch == r.Header.Epoch {
		happened = minus(r.Counts, n.counts)
	}
	if n.shown {
		n.books = plus(n.books, happened)
	} else {
		m.others = plus(m.others, happened)
	}
	n.header, n.counts, n.trigger, n.at = r.Header, r.Counts, trigger, now
	if r.Requests >= 0 {
		n.requests = r.Requests
	}
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

func minus(a, b queue.Counts) queue.Counts {
	return queue.Counts{
		Joined: a.Joined - b.Joined, Returned: a.Returned - b.Returned, Restored: a.Restored - b.Restored,
		Admitted: a.Admitted - b.Admitted, Abandoned: a.Abandoned - b.Abandoned, Left: a.Left - b.Left,
		Carried: a.Carried - b.Carried, Finished: a.Finished - b.Finished, NoShow: a.NoShow - b.NoShow, Revoked: a.Revoked - b.Revoked,
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

// leftMetrics are the parts of sluice_left, by reason.
var leftMetrics = []perItem{
	{"abandoned", "", true, func(n *itemNumbers) float64 { return float64(n.books.Abandoned) }},
	{"left", "", true, func(n *itemNumbers) float64 { return float64(n.books.Left) }},
}

func (m *Metrics) itemInstruments(meter metric.Meter) error {
	for _, p := range itemMetrics {
		var err error
		if p.counter {
			_, err = meter.Float64ObservableCounter(p.name, metric.WithDescription(p.help),
				metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
					m.observe(p, o)
					return nil
				}))
		} else {
			_, err = meter.Float64ObservableGauge(p.name, metric.WithDescription(p.help),
				metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
					m.observe(p, o)
					return nil
				}))
		}
		if err != nil {
			return err
		}
	}
	_, err := meter.Float64ObservableCounter("sluice_left", metric.WithDescription("Places that ended before admission."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			for _, p := range leftMetrics {
				m.observe(p, o, attribute.String("reason", p.name))
			}
			return nil
		}))
	return err
}

// observe shows a number for the items with the longest lines, and the sum of the others. Lines grow and shrink, so items
// come and go among those shown: a counter of the others is what happened to each while it was not, or it would go down.
func (m *Metrics) observe(p perItem, o metric.Float64Observer, more ...attribute.KeyValue) {
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
		n := m.items[item]
		if n.shown = i < mostItems; !n.shown {
			other += p.read(n)
			continue
		}
		o.Observe(p.read(n), metric.WithAttributes(append(more, attribute.String("item", string(item)))...))
	}
	if p.counter {
		other = p.read(&itemNumbers{books: m.others})
	}
	if len(items) > mostItems {
		o.Observe(other, metric.WithAttributes(append(more, attribute.String("item", otherItem))...))
	}
}
