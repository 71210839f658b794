package gate

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/queue"
)

const (
	// flowSpan is how far back the measured part of an estimate looks.
	flowSpan = 60_000
	// flowEvery is the least time between two samples.
	flowEvery = 1_000
	mostFlows = 10_000
)

// flows measures how each line moves, from the counts that answers of the store bring, so that waiting times are
// honest: people who give up shorten the wait of those behind them.
type flows struct {
	items sync.Map // queue.Item -> *flow
	count atomic.Int64
}

type flow struct {
	waiting atomic.Int64
	seenMS  atomic.Int64 // when that was, or when it is being looked at
	rates   atomic.Pointer[rates]

	mu         sync.Mutex
	generation queue.Generation
	samples    []flowSample
}

type flowSample struct {
	ms     int64
	counts queue.Counts
	stood  float64 // visitor-milliseconds waited in line since the first sample
}

// rates are what was measured over the last minute.
type rates struct {
	quitPerMS      float64 // the share of those in line who give up in a millisecond
	freedPerSecond float64 // slots inside that become free
	room           int64   // at the last sample, math.MaxInt64 = not bounded
}

func (fs *flows) of(item queue.Item) *flow {
	if v, ok := fs.items.Load(item); ok {
		return v.(*flow)
	}
	if fs.count.Load() >= mostFlows {
		fs.items.Clear()
		fs.count.Store(0)
	}
	v, loaded := fs.items.LoadOrStore(queue.Item(strings.Clone(string(item))), &flow{})
	if !loaded {
		fs.count.Add(1)
	}
	return v.(*flow)
}

// forget drops what was measured of an item.
func (fs *flows) forget(item queue.Item) {
	if _, there := fs.items.LoadAndDelete(item); there {
		fs.count.Add(-1)
	}
}

// saw takes in the counts of an answer.
func (fs *flows) saw(h queue.Header, c queue.Counts, l queue.Limits, ms int64) {
	f := fs.of(h.Item)
	f.waiting.Store(c.Waiting)
	f.seenMS.Store(ms)
	if !f.mu.TryLock() {
		return // somebody else brings as good a sample
	}
	defer f.mu.Unlock()
	if f.generation != h.Generation {
		f.generation, f.samples = h.Generation, f.samples[:0]
		f.rates.Store(nil)
	}
	n := len(f.samples)
	if n > 0 && ms-f.samples[n-1].ms < flowEvery {
		return
	}
	s := flowSample{ms: ms, counts: c}
	if n > 0 {
		last := f.samples[n-1]
		s.stood = last.stood + float64(last.counts.Waiting+c.Waiting)/2*float64(ms-last.ms)
	}
	f.samples = append(f.samples, s)
	for len(f.samples) > 2 && ms-f.samples[1].ms >= flowSpan {
		f.samples = f.samples[1:]
	}
	first := f.samples[0]
	r := &rates{room: math.MaxInt64}
	if l.MaxActive > 0 {
		r.room = max(0, l.MaxActive-c.Running-c.Reserved)
		// Until it is measured: everybody inside leaves once a session.
		r.freedPerSecond = float64(l.MaxActive) / (float64(l.SessionMS) / 1000)
	}
	if span := s.ms - first.ms; span > 0 {
		gone := float64(c.Abandoned + c.Left - first.counts.Abandoned - first.counts.Left)
		if stood := s.stood - first.stood; stood > 0 && gone > 0 {
			r.quitPerMS = gone / stood
		}
		if l.MaxActive > 0 && span >= 10_000 {
			ended := c.Finished + c.NoShow + c.Revoked - first.counts.Finished - first.counts.NoShow - first.counts.Revoked
			r.freedPerSecond = float64(ended) * 1000 / float64(span)
		}
	}
	f.rates.Store(r)
}

// estimate says how long the visitor at a position waits. position 0 (not drawn yet) stands for the middle of the line.
func (f *flow) estimate(position int64, h queue.Header, nowMS int64) queue.Estimate {
	o := queue.Flow{InflowPerSecond: h.Inflow}
	switch h.State {
	case queue.Open:
	case queue.Prequeue:
		if h.OpensMS == 0 {
			return queue.Estimate{}
		}
		o.Held = time.Duration(max(0, h.OpensMS-nowMS)) * time.Millisecond
	default:
		return queue.Estimate{}
	}
	drawn := position > 0
	if !drawn {
		position = f.waiting.Load()/2 + 1
	}
	if r := f.rates.Load(); r != nil {
		o.Turnout = turnout(position, h.Inflow, r.quitPerMS)
		if beyond := position - r.room; beyond > 0 {
			// Those who find room go in at the inflow; the others when a slot becomes free.
			if r.freedPerSecond == 0 {
				return queue.Estimate{}
			}
			o.FreedPerSecond = r.freedPerSecond * float64(position) / float64(beyond)
		}
	}
	e := queue.EstimateWait(position, o)
	if !drawn && e.Known {
		e.Low, e.High = o.Held, o.Held+2*(e.Wait-o.Held)
	}
	return e
}

// turnout is the share of n people ahead who will still be there at their turn, where each gives up at the rate quit:
// of a line that shrinks at the inflow and by quit × its length, the time to its end is ln(1 + quit·n/inflow) / quit
// (the fluid model of a queue with abandonment, M/M/n+M).
func turnout(n int64, inflowPerSecond, quitPerMS float64) float64 {
	if inflowPerSecond <= 0 {
		return 1
	}
	x := quitPerMS * 1000 * float64(n) / inflowPerSecond
	if x < 1e-6 {
		return 1
	}
	return math.Log1p(x) / x
}

// farPoll is the pace of polls from far back, in seconds on average: at most 30, and up to a tenth sooner.
const farPoll = 28.5

// crowd is how many times its poll budget a line would ask for: people at a wait of w seconds poll every w/10, between
// 1 and 30 s.
func crowd(waiting, budget int64, inflowPerSecond float64) float64 {
	if budget <= 0 || waiting <= 0 {
		return 1
	}
	n, near, last := float64(waiting), 10*inflowPerSecond, 300*inflowPerSecond
	if inflowPerSecond <= 0 {
		return n / farPoll / float64(budget)
	}
	polls := min(n, near)
	if n > near {
		polls += near * math.Log(min(n, last)/near)
	}
	polls += max(0, n-last) / farPoll
	return polls / float64(budget)
}
