// Package replay runs a trace through the real detector and the real line on a virtual clock, and says what would have
// happened: which queues would have turned on, how long people would have waited, when it would have been over.
//
// Nothing ticks: time jumps to the next request, token, end of a session or release, so a quiet day costs nothing and
// a result depends on the trace and the policies alone. People claim the moment they are let in, sessions end to the
// millisecond, and everybody stays in line, unless the options say that some do not.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/internal/trace"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
)

// Options configures Run. Policies is required.
type Options struct {
	Policies *queue.Policies
	// LeaveShare, 0 to 1, of those who come into line stop asking right away, and so leave after abandon_seconds; if
	// their turn comes before that, they do not claim. A further request of theirs in the trace takes it back.
	LeaveShare float64
	// NoShowShare, 0 to 1, of those who are let in do not turn up, and give the slot back after claim_seconds.
	NoShowShare float64
	// Progress is told now and then how many of the events are done, and up to which instant; nil = nobody. Several
	// engines share the work; it is the first one that tells.
	Progress func(done, all int, atMS int64)
}

// progressEach is how many events lie between two calls of Progress.
const progressEach = 1 << 14

// Run replays a trace. An error is one of the line, which has none to give in replay: it would be a defect.
func Run(ctx context.Context, t *trace.Trace, o Options) (*Report, error) {
	engines := make([]*engine, max(1, min(runtime.GOMAXPROCS(0), len(t.Items))))
	shares := shares(t, len(engines))
	items, names := make([]*item, len(t.Items)), names(len(t.Visitors))
	g, running := errgroup.WithContext(ctx)
	for i := range engines {
		e := &engine{o: o, trace: t, number: i, shares: shares, items: items, byID: map[queue.Item]*item{}, names: names}
		e.line = memline.New(memline.Options{Clock: &e.clock, Epoch: func() int64 { return 1 }, Traffic: e.traffic, Punctual: true})
		engines[i] = e
		g.Go(func() error { return e.run(running) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return report(ctx, t, items, func(it *item) *memline.Line { return engines[shares[it.number]].line })
}

// shares deals the items out to so many engines, the busiest first and each to the one that has the fewest requests so
// far. It says by an item's number which engine has it.
func shares(t *trace.Trace, engines int) []int {
	requests := make([]int, len(t.Items))
	for _, ev := range t.Events {
		requests[ev.Item]++
	}
	busiest := make([]int, len(t.Items))
	for i := range busiest {
		busiest[i] = i
	}
	slices.SortFunc(busiest, func(a, b int) int { return cmp.Or(requests[b]-requests[a], a-b) })
	of, load := make([]int, len(t.Items)), make([]int, engines)
	for _, i := range busiest {
		least := slices.Index(load, slices.Min(load))
		of[i] = least
		load[least] += requests[i]
	}
	return of
}

// run replays the requests of the engine's items, and what comes of them after the last one.
func (e *engine) run(ctx context.Context) error {
	events := e.trace.Events
	for i, ev := range events {
		if i%progressEach == 0 {
			if e.o.Progress != nil && e.number == 0 {
				e.o.Progress(i, len(events), ev.MS)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if e.shares[ev.Item] != e.number {
			continue
		}
		if err := e.runUntil(ctx, ev.MS); err != nil {
			return err
		}
		e.clock.ms = ev.MS
		if err := e.request(ctx, ev); err != nil {
			return err
		}
	}
	return e.runUntil(ctx, never-1)
}

// engine replays a share of the items. Items know nothing of one another, so the engines run side by side, each with a
// clock and a line of its own, and the result is the same however many there are.
type engine struct {
	number int
	shares []int // by an item's number, the number of its engine
	o      Options
	trace  *trace.Trace
	clock  virtual
	line   *memline.Line
	items  []*item // by number in the trace, of all engines; nil until its first request
	byID   map[queue.Item]*item
	names  string
	dues   dues
}

// virtual is the clock of a replay.
type virtual struct{ ms int64 }

// Now gives the virtual time.
func (v *virtual) Now() time.Time { return time.UnixMilli(v.ms) }

// traffic measures an item for the line's release.
func (e *engine) traffic(id queue.Item, nowMS int64) (requests, newcomers, active float64) {
	m := e.byID[id].measures(nowMS)
	return m.Requests, m.Newcomers, m.Active
}

// runUntil lets everything happen that is due up to an instant.
func (e *engine) runUntil(ctx context.Context, ms int64) error {
	for {
		it := e.dues.next(ms)
		if it == nil {
			return nil
		}
		e.clock.ms = it.dueMS
		it.dueMS = never
		if err := e.leave(ctx, it); err != nil {
			return err
		}
		if err := e.step(ctx, it); err != nil {
			return err
		}
	}
}

// request lets one request happen: it is counted, may turn the queue on, and is answered.
func (e *engine) request(ctx context.Context, ev trace.Event) error {
	it := e.items[ev.Item]
	if it == nil {
		it = e.open(ev.Item)
	}
	m := it.count(ev.Visitor, ev.MS)
	if !it.on {
		if by, trips := it.decide(m); trips {
			if err := e.activate(ctx, it, by); err != nil {
				return err
			}
		}
	} else if it.lowSince > 0 && !detector.Low(it.limits.Trigger, it.limits.ReleaseRatio, m) {
		// The line looks at the traffic when it is stepped: it must see that the quiet was broken.
		if err := e.step(ctx, it); err != nil {
			return err
		}
	}
	if !it.on {
		it.enter(ev.Visitor, ev.MS)
		return nil
	}
	return e.ask(ctx, it, ev.Visitor)
}

// open begins an item.
func (e *engine) open(i uint32) *item {
	id := e.trace.Items[i]
	_, policy := e.o.Policies.For(id)
	it := newItem(id, i, policy)
	e.items[i], e.byID[id] = it, it
	return it
}

// activate turns an item's queue on. Who is inside goes in with the pass that the visit stands for, and so counts as
// inside until the visit ends.
func (e *engine) activate(ctx context.Context, it *item, by string) error {
	cause := queue.ByDetector
	if it.policy.Mode == queue.ModeOn {
		cause = queue.ByMode
	}
	r, err := e.line.Switch(ctx, it.id, queue.SwitchOrder{Action: queue.Activate, Limits: it.limits, Cause: cause, By: by})
	if err != nil {
		return fmt.Errorf("activate %s: %w", it.id, err)
	}
	if !r.Changed {
		return nil
	}
	now := e.clock.ms
	it.on, it.generation = true, r.Header.Generation
	it.emptySince, it.lowSince, it.waiting = now, 0, 0
	inside := it.inside(now)
	beats := make([]queue.Beat, len(inside))
	for i, v := range inside {
		beats[i] = it.beat(e.name(v), it.visitors[v])
	}
	if _, err := e.line.Touch(ctx, it.id, beats); err != nil {
		return fmt.Errorf("grace at %s: %w", it.id, err)
	}
	it.activations = append(it.activations, Activation{ActivatedMS: now, Grace: int64(len(inside))})
	return e.schedule(ctx, it, now)
}

// names writes the numbers of all visitors in one text, of which each name is a part: the line knows people by number.
func names(n int) string {
	b := make([]byte, 0, n*nameLength)
	for v := range n {
		b = fmt.Appendf(b, "%0*x", nameLength, v)
	}
	return string(b)
}

const nameLength = 8

func (e *engine) name(v uint32) queue.Visitor {
	return queue.Visitor(e.names[int(v)*nameLength : int(v+1)*nameLength])
}

// number undoes name.
func number(name queue.Visitor) uint32 {
	n, err := strconv.ParseUint(string(name), 16, 32)
	if err != nil {
		panic("replay: the line names a visitor whom nobody put there: " + string(name))
	}
	return uint32(n)
}
