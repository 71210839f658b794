// Package live keeps what operators look at: the newest numbers of each item with a queue or rising traffic, and their
// last hour. It belongs to one node, lives in memory, and begins anew when the node starts.
package live

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

// The paces of the readings.
const (
	every     = time.Second     // between two passes
	due       = 5 * time.Second // between two readings of one item
	mostAPass = 500             // items read in one pass: with more than 2,500 queues each is read less often
	aPipe     = 100             // items of one round trip
	patience  = 2 * time.Second // of one pass
	freshFor  = 500 * time.Millisecond
)

// Line is what the readings call of the line.
type Line interface {
	Look(ctx context.Context, item queue.Item) (queue.Snapshot, error)
	LookMany(ctx context.Context, items []queue.Item) ([]queue.Snapshot, []error)
}

// Reading is what was last seen of an item.
type Reading struct {
	Header queue.Header
	Counts queue.Counts
	// Live is false while the line cannot be asked: then the numbers are those of before.
	Live     bool
	At       time.Time // by the machine's clock
	Requests float64   // traffic in the trigger's window; -1 = not known
	In       float64   // let in per second over the last ten to twenty seconds; -1 = not known
	Owed     int64     // people ordered in by hand who are not in yet
	HoldMS   int64     // after a loss nobody is let in before this instant; 0 = no hold
}

// Options configures Readings. Line and Board are required.
type Options struct {
	Line  Line
	Board *queue.Board
	// Rising lists items whose queue is off and whose traffic comes near a trigger; nil = none is known.
	Rising func(context.Context) ([]queue.Item, error)
	Clock  clock.Clock // the machine's; nil = clock.System
	Failed func(error) // something could not be read; nil = ignored
}

// Readings are those of one node. Safe for use by many goroutines.
type Readings struct {
	o   Options
	all atomic.Pointer[[]Reading] // the newest, by item; not changed once stored

	mu    sync.Mutex
	items map[queue.Item]*entry
}

// entry is what is kept of one item.
type entry struct {
	last  Reading
	hour  hour
	shown bool       // it has a queue, or rising traffic
	look  sync.Mutex // held over a look of its own
}

// New makes Readings; Run keeps them.
func New(o Options) *Readings {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	r := &Readings{o: o, items: map[queue.Item]*entry{}}
	r.all.Store(&[]Reading{})
	return r
}

// Run reads until ctx ends.
func (r *Readings) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		r.Pass(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Pass reads the items that are due, those not read for the longest time first.
func (r *Readings) Pass(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now := r.o.Clock.Now()
	for part := range slices.Chunk(r.choose(now, r.rising(ctx)), aPipe) {
		snapshots, errs := r.o.Line.LookMany(ctx, part)
		for i, item := range part {
			r.take(item, snapshots[i], errs[i], now)
		}
	}
	r.publish(now)
}

func (r *Readings) rising(ctx context.Context) []queue.Item {
	if r.o.Rising == nil {
		return nil
	}
	items, err := r.o.Rising(ctx)
	if err != nil {
		r.o.Failed(err)
	}
	return items
}

// choose gives the items to read now: those with a queue, those with rising traffic.
func (r *Readings) choose(now time.Time, rising []queue.Item) []queue.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.items {
		e.shown = false
	}
	for _, h := range r.o.Board.All() {
		if h.On() {
			e := r.entry(h.Item)
			e.shown = true
			if h.Newer(e.last.Header) { // pushed: there is no need to wait for the next reading
				e.last.Header = h
			}
		}
	}
	for _, item := range rising {
		r.entry(item).shown = true
	}
	var items []queue.Item
	for item, e := range r.items {
		if e.shown && now.Sub(e.last.At) >= due-every/2 {
			items = append(items, item)
		}
	}
	slices.SortFunc(items, func(a, b queue.Item) int { return r.items[a].last.At.Compare(r.items[b].last.At) })
	return items[:min(len(items), mostAPass)]
}

// entry finds or makes that of an item; r.mu is held.
func (r *Readings) entry(item queue.Item) *entry {
	e := r.items[item]
	if e == nil {
		e = &entry{last: Reading{Header: r.o.Board.Get(item), Requests: -1, In: -1}}
		r.items[item] = e
	}
	return e
}

// take takes in what a look has shown.
func (r *Readings) take(item queue.Item, s queue.Snapshot, err error, now time.Time) Reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entry(item)
	if err != nil {
		r.o.Failed(err)
		e.last.Live, e.last.At, e.last.In = false, now, -1
		if h := r.o.Board.Get(item); h.Newer(e.last.Header) {
			e.last.Header = h
		}
		return e.last
	}
	e.last = Reading{Header: s.Header, Counts: s.Counts, Live: true, At: now, Requests: s.Requests, In: s.InPerSecond, Owed: s.Debt, HoldMS: s.HoldMS}
	e.hour.add(e.last)
	return e.last
}

// publish makes the list that All gives, and forgets items of the past.
func (r *Readings) publish(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Reading, 0, len(r.items))
	maps.DeleteFunc(r.items, func(_ queue.Item, e *entry) bool {
		if e.shown {
			all = append(all, e.last)
		}
		return !e.shown && now.Sub(e.last.At) > Span
	})
	slices.SortFunc(all, func(a, b Reading) int { return cmp.Compare(a.Header.Item, b.Header.Item) })
	r.all.Store(&all)
}

// All gives the newest reading of each item with a queue or rising traffic, by item, as of the last pass. Not to be
// changed.
func (r *Readings) All() []Reading { return *r.all.Load() }

// Look reads one item now; within half a second all who ask get the same reading. An item that nobody has heard of is
// read, and not kept.
func (r *Readings) Look(ctx context.Context, item queue.Item) Reading {
	r.mu.Lock()
	e := r.items[item]
	known := e != nil
	if !known {
		e = &entry{}
	}
	r.mu.Unlock()
	e.look.Lock()
	defer e.look.Unlock()
	now := r.o.Clock.Now()
	r.mu.Lock()
	last := e.last
	r.mu.Unlock()
	if known && last.Live && now.Sub(last.At) < freshFor && !r.o.Board.Get(item).Newer(last.Header) {
		return last
	}
	s, err := r.o.Line.Look(ctx, item)
	if known || err == nil && s.Header.On() {
		return r.take(item, s, err, now)
	}
	if err != nil {
		return Reading{Header: r.o.Board.Get(item), At: now, Requests: -1, In: -1}
	}
	return Reading{Header: s.Header, Counts: s.Counts, Live: true, At: now, Requests: s.Requests, In: s.InPerSecond}
}

// Hour gives the samples of an item's last hour, oldest first; none for an item that was not read.
func (r *Readings) Hour(item queue.Item) []Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.items[item]
	if e == nil {
		return nil
	}
	return e.hour.samples(r.o.Clock.Now())
}
