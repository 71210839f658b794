package telemetry

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicehq/sluice/internal/telemetry/series"
	"github.com/sluicehq/sluice/queue"
)

// mostItems bounds the items that have series of their own; the others are gathered under series.OtherItem.
const mostItems = 100

// traceLabel is the label of exemplars that names a trace.
const traceLabel = "trace_id"

// itemNumbers are what the steps of one item told last.
type itemNumbers struct {
	header   queue.Header
	counts   queue.Counts
	books    queue.Counts // what happened while the item had series of its own, over all generations
	shown    bool         // it has series of its own; else what happens is the others'
	requests float64
	limits   queue.Limits
	at       time.Time
}

// Stepped takes over what a step of an item told. The node that steps an item shows its numbers, so that sums over
// nodes are true. Traces are those of the visitors admitted, "" = not sampled; nil = none is.
func (m *Metrics) Stepped(r queue.StepReport, limits queue.Limits, lag time.Duration, now time.Time, traces []string) {
	m.lag.Observe(lag.Seconds())
	for i, in := range r.Admitted {
		if at := queue.ScoreTime(in.Score); !at.IsZero() {
			took := max(0, time.UnixMilli(r.NowMS).Sub(at).Seconds())
			if traces != nil && traces[i] != "" {
				m.wait.(prometheus.ExemplarObserver).ObserveWithExemplar(took, prometheus.Labels{traceLabel: traces[i]})
			} else {
				m.wait.Observe(took)
			}
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
	n.header, n.counts, n.limits, n.at = r.Header, r.Counts, limits, now
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
	m.traffic.keep(since)
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
	series.Metric
	read func(*itemNumbers) float64
	more []string // values of the labels beside the item
}

var itemMetrics = []perItem{
	{series.QueueState, func(n *itemNumbers) float64 { return float64(n.header.State) }, nil},
	{series.Waiting, func(n *itemNumbers) float64 { return float64(n.counts.Waiting) }, nil},
	{series.Running, func(n *itemNumbers) float64 { return float64(n.counts.Running) }, nil},
	{series.Reserved, func(n *itemNumbers) float64 { return float64(n.counts.Reserved) }, nil},
	{series.Finished, func(n *itemNumbers) float64 { return float64(n.books.Finished) }, nil},
	{series.Admitted, func(n *itemNumbers) float64 { return float64(n.books.Admitted) }, nil},
	{series.Joined, func(n *itemNumbers) float64 { return float64(n.books.Joined) }, nil},
	{series.NoShow, func(n *itemNumbers) float64 { return float64(n.books.NoShow) }, nil},
	{series.Restored, func(n *itemNumbers) float64 { return float64(n.books.Restored) }, nil},
	{series.Left, func(n *itemNumbers) float64 { return float64(n.books.Abandoned) }, []string{"abandoned"}},
	{series.Left, func(n *itemNumbers) float64 { return float64(n.books.Left) }, []string{"left"}},
	{series.WindowRequests, func(n *itemNumbers) float64 { return n.requests }, nil},
	{series.TriggerRequests, func(n *itemNumbers) float64 { return float64(n.limits.Trigger.Requests) }, nil},
	{series.Inflow, func(n *itemNumbers) float64 { return n.header.Inflow }, nil},
	{series.MaxActive, func(n *itemNumbers) float64 { return float64(n.limits.MaxActive) }, nil},
}

// items shows the numbers of the items that this node steps.
type items struct{ *Metrics }

// Describe says nothing: what is shown is known only when somebody asks.
func (m items) Describe(chan<- *prometheus.Desc) {}

// Collect shows the items with the longest lines, and the sum of the others. Lines grow and shrink, so items come and go
// among those shown: a counter of the others is what happened to each while it was not, or it would go down.
func (m items) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]queue.Item, 0, len(m.items))
	for item := range m.items {
		all = append(all, item)
	}
	slices.SortFunc(all, func(a, b queue.Item) int {
		if d := m.items[b].counts.Waiting - m.items[a].counts.Waiting; d != 0 {
			return int(max(-1, min(1, d)))
		}
		return strings.Compare(string(a), string(b))
	})
	for i, item := range all {
		m.items[item].shown = i < mostItems
	}
	for _, p := range itemMetrics {
		d := desc(p.Metric)
		show := func(item string, v float64) {
			to <- prometheus.MustNewConstMetric(d, kindOf(p.Metric), v, append([]string{item}, p.more...)...)
		}
		var other float64
		for _, item := range all {
			if n := m.items[item]; n.shown {
				show(string(item), p.read(n))
			} else {
				other += p.read(n)
			}
		}
		if p.Kind == series.Counter {
			other = p.read(&itemNumbers{books: m.others})
		}
		show(series.OtherItem, other)
	}
}
