package bench

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// counts sends 30,000 checks a second over three nodes, compares the window's count in the store with the exact one,
// and then lets another item trip under the same traffic and counts who still passed after the exact instant.
func counts(ctx context.Context, e *env) error {
	rate := pick(e.Short, 30_000.0, 2_000.0)
	window := pick(e.Short, 10*time.Second, 3*time.Second)
	span := 2 * window
	f, err := e.start(ctx, 3)
	defer f.close()
	if err != nil {
		return err
	}
	seconds := int(window / time.Second)
	// Close enough to its trigger to be flushed at the fast pace, too far ever to reach it.
	if err := f.Policy(ctx, "steady", map[string]any{"trigger_window_seconds": seconds, "trigger_requests": int(1.5 * rate * window.Seconds())}); err != nil {
		return err
	}
	trigger := int(rate * window.Seconds() / 4)
	if err := f.Policy(ctx, "tripping", map[string]any{"trigger_window_seconds": seconds, "trigger_requests": trigger}); err != nil {
		return err
	}
	if err := pause(ctx, time.Now().Add(1500*time.Millisecond)); err != nil { // a write is in force within 1 s
		return err
	}

	store := f.redis.Client()
	defer store.Close()
	line := storeLine(store, nil)
	s := &sentLog{}
	begin := time.Now()
	var off []float64
	g, running := errgroup.WithContext(ctx)
	e.flood(g, running, f, "steady", rate, begin, begin.Add(span), func(_ verdict, sent time.Time) { s.add(sent) })
	g.Go(func() error {
		for at := begin.Add(window + time.Second); at.Before(begin.Add(span - 100*time.Millisecond)); at = at.Add(200 * time.Millisecond) {
			if err := pause(running, at); err != nil {
				return err
			}
			got, err := line.Look(running, "steady")
			if err != nil {
				return err
			}
			now := time.UnixMilli(got.NowMS)
			off = append(off, got.Requests)
			s.mark(now.Add(-window), now)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	exact := s.windows()
	var errs []float64
	for i, want := range exact {
		errs = append(errs, abs(off[i]/want-1)*100)
	}
	slices.Sort(errs)
	e.say("%d checks of an item that does not trip; %d windows compared", len(s.sent), len(errs))

	t := &tripping{trigger: trigger}
	begin = time.Now()
	g, running = errgroup.WithContext(ctx)
	e.flood(g, running, f, "tripping", rate, begin, begin.Add(window), t.got)
	if err := g.Wait(); err != nil {
		return err
	}
	passed := t.passedAfter()

	r := &e.report
	r.note("checks offered", rate, "per second")
	r.note("checks answered", float64(len(s.sent))/span.Seconds(), "per second")
	if n := len(errs); n > 0 {
		r.note("count of the window, error, median", errs[n/2], "%")
		r.limit(e.Short, "count of the window, error, most", errs[n-1], 1, "%")
	}
	answered := float64(len(t.sent)) / window.Seconds()
	r.limit(e.Short, "checks that passed after the exact trip", float64(passed), math.Ceil(answered/4), "checks")
	r.note("that is", float64(passed)/answered*1000, "ms of traffic")
	return nil
}

// flood sends checks of one item over all nodes.
func (e *env) flood(g *errgroup.Group, ctx context.Context, f *testbed, item string, rate float64, begin, end time.Time, got func(verdict, time.Time)) {
	const wires = 2 // to each node
	each := rate / float64(wires*len(f.Nodes))
	for _, n := range f.Nodes {
		for range wires {
			g.Go(func() error { return pump(ctx, n.URL, paced(ctx, begin, end, item, each), got) })
		}
	}
}

// sentLog keeps when checks were sent, and which windows are to be counted.
type sentLog struct {
	mu    sync.Mutex
	sent  []int64 // unix ns
	marks [][2]int64
}

func (s *sentLog) add(at time.Time) {
	s.mu.Lock()
	s.sent = append(s.sent, at.UnixNano())
	s.mu.Unlock()
}

func (s *sentLog) mark(from, to time.Time) {
	s.mu.Lock()
	s.marks = append(s.marks, [2]int64{from.UnixNano(), to.UnixNano()})
	s.mu.Unlock()
}

// windows counts exactly what was sent in each marked window.
func (s *sentLog) windows() (n []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.sent)
	for _, m := range s.marks {
		from, _ := slices.BinarySearch(s.sent, m[0])
		to, _ := slices.BinarySearch(s.sent, m[1])
		n = append(n, float64(to-from))
	}
	return n
}

// tripping keeps the checks of an item that trips.
type tripping struct {
	trigger int
	mu      sync.Mutex
	sent    []int64 // unix ns, of all
	passed  []int64 // of those that were answered while the queue was off
}

func (t *tripping) got(v verdict, sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, sent.UnixNano())
	if !v.on {
		t.passed = append(t.passed, sent.UnixNano())
	}
}

// passedAfter counts those who passed though they were sent after the check that reached the trigger.
func (t *tripping) passedAfter() (n int) {
	slices.Sort(t.sent)
	if len(t.sent) <= t.trigger {
		return len(t.passed)
	}
	trip := t.sent[t.trigger-1]
	for _, at := range t.passed {
		if at > trip {
			n++
		}
	}
	return n
}
