package detector

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

// The paces of a Flusher.
const (
	fastPace = 100 * time.Millisecond // items close to a trigger
	slowPace = time.Second            // all others
	// patience bounds one call of the traffic that nobody waits for, and one trip.
	patience = 500 * time.Millisecond
	// refusedFor is how long a node does not ask again after a trip that activated nothing: the detector is disarmed.
	refusedFor = time.Second
	// failedFor is the same after a trip that failed: with the store away, each request would ask.
	failedFor = 250 * time.Millisecond
)

// FlusherOptions configures a Flusher. Counter, Traffic and Limits are required.
type FlusherOptions struct {
	Counter *Counter
	Traffic traffic
	Limits  func(queue.Item) queue.Limits // in force now
	Node    string                        // this node's name among all
	Nodes   func() int                    // live nodes; nil = 1
	Clock   clock.Clock                   // nil = the system clock
	// Up reports whether some of the traffic can be reached: then what fails is some items' trouble, and others need not wait
	// for it. nil = nobody knows.
	Up func() bool

	// All may be nil, may be called by several goroutines at once, and must not block.
	Seen   func(queue.Header) // a header that a flush brought
	Failed func(error)        // a flush or an item of it failed
}

// Flusher hands the counts of a node to the traffic of all nodes: items close to a trigger each 100 ms, and at once
// when what is pending could trip them; all others each second.
type Flusher struct {
	o   FlusherOptions
	seq atomic.Int64

	flushing sync.Mutex // held over a flush: one at a time

	mu    sync.Mutex
	again []Sample // of failed flushes, with the numbers they had
	trips map[queue.Item]*trip
}

// trip is one activation on its way; whoever asks for the same waits for it.
type trip struct {
	done   chan struct{}
	header queue.Header
	err    error
}

// NewFlusher makes a Flusher; Run starts it.
func NewFlusher(o FlusherOptions) *Flusher {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Nodes == nil {
		o.Nodes = func() int { return 1 }
	}
	if o.Up == nil {
		o.Up = func() bool { return false }
	}
	if o.Seen == nil {
		o.Seen = func(queue.Header) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	f := &Flusher{o: o, trips: map[queue.Item]*trip{}}
	f.seq.Store(o.Clock.Now().UnixMicro()) // past the numbers that a node of this name had before a restart
	return f
}

// Run flushes until the context ends, and then once more, so that a node that drains loses no counts.
func (f *Flusher) Run(ctx context.Context) {
	tick := time.NewTicker(fastPace)
	defer tick.Stop()
	var all time.Time
	for {
		select {
		case <-ctx.Done():
			f.flush(context.WithoutCancel(ctx), true)
			return
		case <-f.o.Counter.wake:
			f.flush(ctx, false)
		case now := <-tick.C:
			full := now.Sub(all) >= slowPace-fastPace/2
			if full {
				all = now
			}
			f.flush(ctx, full)
		}
	}
}

// Flush hands over everything that is pending, now. It gives the error of the traffic; what failed is sent again later.
func (f *Flusher) Flush(ctx context.Context) error { return f.flush(ctx, true) }

// Dropped is how many counts this node lost: to the bounds of the Counter, or because no flush reached the store while
// they were within their window.
func (f *Flusher) Dropped() int64 { return f.o.Counter.Dropped() }

// Trip activates an item's queue at once, because Count said so: this node's own counts reach a trigger. However many
// ask at the same time, one activation goes out. It gives the queue's header, which is off where the traffic refused:
// the detector is disarmed, and Count does not report the trip again for a second. Errors are those of the traffic, or
// of the context. A trip does not wait for a flush on its way.
func (f *Flusher) Trip(ctx context.Context, item queue.Item) (queue.Header, error) {
	f.mu.Lock()
	t := f.trips[item]
	if t == nil {
		t = &trip{done: make(chan struct{})}
		f.trips[item] = t
		// On its own, because the first caller may go away while others wait for the same.
		go f.trip(context.WithoutCancel(ctx), item, t)
	}
	f.mu.Unlock()
	select {
	case <-t.done:
		return t.header, t.err
	case <-ctx.Done():
		return queue.Header{}, ctx.Err()
	}
}

func (f *Flusher) trip(ctx context.Context, item queue.Item, t *trip) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now := f.nowMS()
	sample := f.number(f.o.Counter.takeOne(item, now))
	sample.Force = true
	verdicts, err := f.o.Traffic.Flush(ctx, []Sample{sample})
	for _, v := range verdicts {
		if f.take(v); v.Item == item {
			t.header, t.err = v.Header, v.Err
		}
	}
	switch {
	case len(verdicts) == 0 && err != nil:
		t.err = err
		f.mu.Lock()
		sample.Force = false
		f.again = append(f.again, sample) // the newest of its item
		f.mu.Unlock()
		f.o.Counter.refuse(item, f.nowMS()+failedFor.Milliseconds())
	case t.err == nil && !t.header.On():
		f.o.Counter.refuse(item, f.nowMS()+refusedFor.Milliseconds())
	}
	f.mu.Lock()
	delete(f.trips, item)
	f.mu.Unlock()
	close(t.done)
}

// flush sends what failed before, and then what is pending now. An item whose earlier sample fails again waits, and the
// others go on, unless nothing can be reached.
func (f *Flusher) flush(ctx context.Context, all bool) error {
	f.flushing.Lock()
	defer f.flushing.Unlock()
	f.o.Counter.nodes.Store(int64(max(1, f.o.Nodes())))
	var failed error
	stuck := map[queue.Item]bool{}
	for due := f.kept(stuck); len(due) > 0; due = f.kept(stuck) {
		if some, err := f.send(ctx, due, stuck); err != nil {
			if failed = err; !some && !f.o.Up() {
				return err
			}
		}
	}
	samples := f.o.Counter.drain(all, f.nowMS())
	for i := range samples {
		samples[i] = f.number(samples[i])
	}
	var behind []Sample
	samples = slices.DeleteFunc(samples, func(s Sample) bool {
		if stuck[s.Item] {
			behind = append(behind, s)
		}
		return stuck[s.Item]
	})
	f.keep(nil, behind)
	if _, err := f.send(ctx, samples, stuck); err != nil {
		return err
	}
	return failed
}

// number completes a sample.
func (f *Flusher) number(s Sample) Sample {
	s.Limits, s.Node, s.Seq = f.o.Limits(s.Item), f.o.Node, f.seq.Add(1)
	return s
}

// keep puts samples by for the next flush, some before and some behind those put by earlier: an item's samples go out in
// the order of their numbers, or the traffic would take the earlier for one that comes again. Past the bound of one flush
// they are dropped. They force nothing any more: by then the rush may be over, and the counts say whether it is.
func (f *Flusher) keep(before, behind []Sample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.again = slices.Concat(before, f.again, behind)
	for i := range f.again {
		f.again[i].Force = false
	}
	for len(f.again) > mostSamples {
		last := len(f.again) - 1
		f.o.Counter.dropped.Add(f.again[last].Requests())
		f.again = f.again[:last]
	}
}

// kept takes the samples put by, one for each item that is not stuck, with the ages of now, and drops those that no window
// holds any more.
func (f *Flusher) kept(stuck map[queue.Item]bool) []Sample {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.again) == 0 {
		return nil
	}
	now := f.nowMS()
	var due, later []Sample
	taken := map[queue.Item]bool{}
	for _, s := range f.again {
		if taken[s.Item] || stuck[s.Item] {
			later = append(later, s)
			continue
		}
		s.age(now)
		if n := len(s.Counts); n > 0 && s.Counts[n-1].AgeMS >= max(s.Limits.Trigger.WindowMS, NewcomersMS) {
			f.o.Counter.dropped.Add(s.Requests())
			continue
		}
		taken[s.Item] = true
		due = append(due, s)
	}
	f.again = later
	return due
}

// send hands samples over and takes in the verdicts; those of items without one are kept for the next time, and their
// items stuck until then. It reports whether some have one.
func (f *Flusher) send(ctx context.Context, samples []Sample, stuck map[queue.Item]bool) (some bool, err error) {
	if len(samples) == 0 {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	verdicts, err := f.o.Traffic.Flush(ctx, samples)
	for _, v := range verdicts {
		f.take(v)
	}
	if err == nil {
		return true, nil
	}
	f.o.Failed(err)
	done := make(map[queue.Item]bool, len(verdicts))
	for _, v := range verdicts {
		done[v.Item] = true
	}
	left := slices.DeleteFunc(samples, func(s Sample) bool { return done[s.Item] })
	for _, s := range left {
		stuck[s.Item] = true
	}
	f.keep(left, nil)
	return len(verdicts) > 0, err
}

// take takes in one verdict.
func (f *Flusher) take(v Verdict) {
	if v.Err != nil {
		f.o.Failed(v.Err)
		return
	}
	f.o.Counter.learn(v)
	if v.Header.Version > 0 {
		f.o.Seen(v.Header)
	}
}

func (f *Flusher) nowMS() int64 { return f.o.Clock.Now().UnixMilli() }
