package telemetry

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicehq/sluice/internal/telemetry/series"
	"github.com/sluicehq/sluice/queue"
)

// trafficFor is how long an item's traffic is shown after its last request.
const trafficFor = 15 * time.Minute

// traffic counts the requests of the busiest items each on its own, and those of all others together.
type traffic struct {
	mu    sync.Mutex
	items map[queue.Item]*itemTraffic // at most mostItems
	other int64
}

type itemTraffic struct {
	total  int64
	recent float64 // halved at each keep
	at     time.Time
}

// Counted takes in requests of an item. With mostItems items shown, one that is busier than the least busy of them takes
// its place.
func (m *Metrics) Counted(item queue.Item, n int64, now time.Time) { m.traffic.count(item, n, now) }

func (t *traffic) count(item queue.Item, n int64, now time.Time) {
	if n <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	it := t.items[item]
	if it == nil && len(t.items) >= mostItems {
		least, name := float64(n), queue.Item("")
		for other, seen := range t.items {
			if seen.recent < least {
				least, name = seen.recent, other
			}
		}
		if name == "" {
			t.other += n
			return
		}
		delete(t.items, name)
	}
	if it == nil {
		it = &itemTraffic{}
		t.items[queue.Item(strings.Clone(string(item)))] = it
	}
	it.total, it.recent, it.at = it.total+n, it.recent+float64(n), now
}

// keep lets what was long ago weigh less, and drops items that have gone quiet.
func (t *traffic) keep(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for item, n := range t.items {
		if n.recent /= 2; now.Sub(n.at) > trafficFor {
			delete(t.items, item)
		}
	}
}

// Describe says nothing: what is shown is known only when somebody asks.
func (t *traffic) Describe(chan<- *prometheus.Desc) {}

// Collect shows the busiest items, and all others together.
func (t *traffic) Collect(to chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := desc(series.ItemRequests)
	for item, n := range t.items {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n.total), string(item))
	}
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(t.other), series.OtherItem)
}
