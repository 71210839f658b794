// Package memtraffic is the traffic of one process, for a node without a store and for tests: the counts that
// detector.Flusher hands over, compared with the triggers, and the queues turned on through the line.
package memtraffic

import (
	"context"
	"sync"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

// The bounds of a Traffic.
const (
	mostItems   = 32_768
	mostActive  = 200_000 // active users at one item
	sweepEachMS = 1000
)

// line is what a Traffic needs of the line: to look whether a queue is on, and to turn it on.
type line interface {
	Look(ctx context.Context, item queue.Item) (queue.Snapshot, error)
	Switch(ctx context.Context, item queue.Item, order queue.SwitchOrder) (queue.SwitchReport, error)
}

// Options configures a Traffic. Line is required.
type Options struct {
	Line  line
	Clock clock.Clock // nil = the system clock
}

// Traffic counts what all Flushers of the process hand over. Safe for concurrent use; it holds no lock while it calls
// the line, which may call Measures under its own.
type Traffic struct {
	o Options

	mu      sync.Mutex
	items   map[queue.Item]*item
	sweptMS int64
}

// item is the traffic of one item. Active users are exact: the last check of each within the session.
type item struct {
	requests, newcomers detector.Window
	active              map[queue.Visitor]int64
	sessionMS           int64
}

// New makes a Traffic that has counted nothing.
func New(o Options) *Traffic {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	return &Traffic{o: o, items: map[queue.Item]*item{}}
}

// Flush adds the samples, and turns on each queue whose trigger is reached and that is off. The line refuses where the
// detector is disarmed.
func (t *Traffic) Flush(ctx context.Context, samples []detector.Sample) ([]detector.Verdict, error) {
	now := t.o.Clock.Now().UnixMilli()
	verdicts := make([]detector.Verdict, 0, len(samples))
	for _, s := range samples {
		verdict := detector.Verdict{Item: s.Item, Measures: t.add(s, now)}
		verdict.Header, verdict.Activated, verdict.Err = t.decide(ctx, s, verdict.Measures)
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// decide turns the queue on where a trigger is reached and the policy leaves it to the detector.
func (t *Traffic) decide(ctx context.Context, s detector.Sample, m detector.Measures) (queue.Header, bool, error) {
	by, tripped := detector.Decide(s.Limits.Trigger, m)
	if s.Force && !tripped {
		by, tripped = detector.ByRequests, true
	}
	look, err := t.o.Line.Look(ctx, s.Item)
	if err != nil || !tripped || !s.Limits.Auto || look.Header.On() {
		return look.Header, false, err
	}
	report, err := t.o.Line.Switch(ctx, s.Item, queue.SwitchOrder{
		Action: queue.Activate, Limits: s.Limits, Cause: queue.ByDetector, By: by, Reserved: int64(m.Active),
		Trip: detector.TripOf(s.Limits.Trigger, m, by),
	})
	if err != nil {
		return look.Header, false, err
	}
	return report.Header, report.Changed, nil
}

// Measures is the traffic of an item now, for the line's release.
func (t *Traffic) Measures(id queue.Item, nowMS int64) (requests, newcomers, active float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.items[id]
	if i == nil {
		return 0, 0, 0
	}
	m := i.measures(nowMS)
	return m.Requests, m.Newcomers, m.Active
}

// Items is how many items are counted now.
func (t *Traffic) Items() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.items)
}

// add counts one sample. No call is lost inside a process, so none comes twice.
func (t *Traffic) add(s detector.Sample, nowMS int64) detector.Measures {
	t.mu.Lock()
	defer t.mu.Unlock()
	if nowMS-t.sweptMS >= sweepEachMS {
		t.sweep(nowMS)
	}
	i := t.items[s.Item]
	if i == nil {
		i = t.open(s)
	}
	i.requests.Resize(s.Limits.Trigger.WindowMS)
	i.sessionMS = s.Limits.SessionMS
	for _, b := range s.Counts {
		i.requests.Add(nowMS-b.AgeMS, b.N)
	}
	for _, b := range s.Newcomers {
		i.newcomers.Add(nowMS-b.AgeMS, b.N)
	}
	for _, v := range s.Active {
		if _, known := i.active[v]; known || len(i.active) < mostActive {
			i.active[v] = nowMS
		}
	}
	return i.measures(nowMS)
}

// open begins to count an item. Where there are too many, the least busy of a few goes.
func (t *Traffic) open(s detector.Sample) *item {
	if len(t.items) >= mostItems {
		tried, least, sum := 0, queue.Item(""), 0.0
		for id, i := range t.items {
			if n := i.requests.Sum(t.sweptMS); tried == 0 || n < sum {
				least, sum = id, n
			}
			if tried++; tried == 8 {
				break
			}
		}
		delete(t.items, least)
	}
	i := &item{
		requests: detector.NewWindow(s.Limits.Trigger.WindowMS), newcomers: detector.NewWindow(detector.NewcomersMS),
		active: map[queue.Visitor]int64{},
	}
	t.items[s.Item] = i
	return i
}

// sweep drops users whose session is over, and items of which nothing is left.
func (t *Traffic) sweep(nowMS int64) {
	t.sweptMS = nowMS
	for id, i := range t.items {
		for v, last := range i.active {
			if last+i.sessionMS <= nowMS {
				delete(i.active, v)
			}
		}
		if len(i.active) == 0 && i.requests.Sum(nowMS) == 0 && i.newcomers.Sum(nowMS) == 0 {
			delete(t.items, id)
		}
	}
}

// measures reads the counts; the active users are those of the last sweep, at most a second ago.
func (i *item) measures(nowMS int64) detector.Measures {
	return detector.Measures{
		Requests: i.requests.Sum(nowMS), Newcomers: i.newcomers.Sum(nowMS), Active: float64(len(i.active)),
	}
}
