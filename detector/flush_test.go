package detector

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// scripted is a traffic that remembers what it was handed, sums it, and answers as told.
type scripted struct {
	mu      sync.Mutex
	calls   [][]Sample
	at      []time.Time
	sums    map[queue.Item]float64
	fail    error
	refuse  bool          // disarmed: nothing is activated
	slow    time.Duration // before it answers
	on      map[queue.Item]queue.Header
	counted map[int64]bool
	last    map[queue.Item]int64 // highest number counted
	late    int                  // samples that came after one with a higher number
}

func newScripted() *scripted {
	return &scripted{sums: map[queue.Item]float64{}, on: map[queue.Item]queue.Header{}, counted: map[int64]bool{}, last: map[queue.Item]int64{}}
}

func (s *scripted) Flush(ctx context.Context, samples []Sample) ([]Verdict, error) {
	select {
	case <-time.After(s.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, samples)
	s.at = append(s.at, time.Now())
	if s.fail != nil {
		return nil, s.fail
	}
	var verdicts []Verdict
	for _, x := range samples {
		if !s.counted[x.Seq] {
			s.sums[x.Item] += float64(x.Requests())
		}
		s.counted[x.Seq] = true
		if x.Seq < s.last[x.Item] {
			s.late++
		}
		s.last[x.Item] = x.Seq
		v := Verdict{Item: x.Item, Measures: Measures{Requests: s.sums[x.Item]}, Header: s.on[x.Item]}
		_, tripped := Decide(x.Limits.Trigger, v.Measures)
		if (tripped || x.Force) && !s.refuse && !v.Header.On() {
			v.Header = queue.Header{Item: x.Item, State: queue.Open, Generation: v.Header.Generation + 1, Version: v.Header.Version + 1}
			v.Activated = true
			s.on[x.Item] = v.Header
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// activated is how many activations there were.
func (s *scripted) activated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, h := range s.on {
		n += int(h.Generation)
	}
	return n
}

func (s *scripted) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

// node is a Counter and a Flusher in a synctest bubble.
type node struct {
	*Counter
	*Flusher
	traffic *scripted
	mu      sync.Mutex
	seen    []queue.Header
	failed  []error
}

// note returns a callback that appends to one of the node's lists.
func note[T any](n *node, list *[]T) func(T) {
	return func(x T) {
		n.mu.Lock()
		defer n.mu.Unlock()
		*list = append(*list, x)
	}
}

func start(t *testing.T, traffic *scripted, nodes int) *node {
	n := &node{Counter: NewCounter(), traffic: traffic}
	n.Flusher = NewFlusher(FlusherOptions{
		Counter: n.Counter, Traffic: traffic, Node: "node-1", Nodes: func() int { return nodes },
		Limits: func(queue.Item) queue.Limits { return queue.Limits{Trigger: sale.Trigger} },
		Seen:   note(n, &n.seen), Failed: note(n, &n.failed),
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { n.Run(ctx); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	return n
}

func (n *node) hit(item queue.Item, times int) (trips int) {
	for range times {
		if n.Count(item, "visitor-000000001", false, sale, time.Now().UnixMilli()) {
			trips++
		}
	}
	return trips
}

// pass lets time pass, and what it brings come to rest.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestFlusherPaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newScripted(), 1)
		pass(1150 * time.Millisecond)
		if n.traffic.taken() != 0 {
			t.Fatal("an empty flush went out")
		}
		n.hit("far", 10)
		pass(900 * time.Millisecond)
		if n.traffic.taken() != 0 {
			t.Fatal("a far item went out before its second")
		}
		pass(200 * time.Millisecond)
		if n.traffic.taken() != 1 {
			t.Fatalf("%d flushes after a second", n.traffic.taken())
		}
		n.hit("far", 245)
		pass(time.Second)
		n.hit("far", 1) // now close: 255 of 500
		pass(110 * time.Millisecond)
		if n.traffic.taken() != 3 || n.traffic.activated() != 0 {
			t.Fatalf("%d flushes, %d activations", n.traffic.taken(), n.traffic.activated())
		}
		n.hit("far", 243) // 499
		pass(110 * time.Millisecond)
		if n.traffic.activated() != 0 {
			t.Fatal("499 of 500 tripped")
		}
		n.hit("far", 1)
		synctest.Wait() // without any time: one pending is what is left
		if n.traffic.activated() != 1 || len(n.seen) == 0 {
			t.Fatalf("%d activations", n.traffic.activated())
		}
	})
}

// B020, invariant one-activation: thousands ask at once, one activation goes out.
func TestOneTripIsOneActivation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		traffic := newScripted()
		traffic.slow = 20 * time.Millisecond
		a, b := start(t, traffic, 2), start(t, traffic, 2)
		var wg sync.WaitGroup
		var mu sync.Mutex
		passed, on := 0, 0
		for i := range 5000 {
			wg.Go(func() {
				n := a
				if i%2 == 1 {
					n = b
				}
				if !n.Count("sku-1", "visitor-000000001", true, sale, time.Now().UnixMilli()) {
					mu.Lock()
					passed++
					mu.Unlock()
					return
				}
				h, err := n.Trip(t.Context(), "sku-1")
				mu.Lock()
				defer mu.Unlock()
				if err == nil && h.On() && h.Generation == 1 {
					on++
				}
			})
		}
		wg.Wait()
		pass(2 * time.Second)
		if passed > 2*499 || on != 5000-passed {
			t.Errorf("%d passed, %d saw the queue on", passed, on)
		}
		if n := traffic.activated(); n != 1 {
			t.Errorf("%d activations", n)
		}
	})
}

func TestARefusedTripIsNotAskedAgainAtEachRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newScripted(), 1)
		n.traffic.refuse = true
		if n.hit("sku-1", 500) != 1 {
			t.Fatal("no trip")
		}
		if h, err := n.Trip(t.Context(), "sku-1"); err != nil || h.On() {
			t.Fatal(h, err)
		}
		if trips := n.hit("sku-1", 100); trips != 0 {
			t.Errorf("%d trips right after it was refused", trips)
		}
		pass(refusedFor)
		if n.hit("sku-1", 1) != 1 {
			t.Error("no trip a second later")
		}
	})
}

func TestAFailedFlushIsSentAgainUnderItsNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newScripted(), 1)
		n.traffic.fail = errors.New("the store is away")
		n.hit("sku-1", 300)
		n.hit("sku-2", 7)
		pass(1100 * time.Millisecond)
		n.hit("sku-1", 20)
		pass(3 * time.Second)
		if len(n.failed) == 0 {
			t.Fatal("nobody was told")
		}
		n.hit("sku-1", 180) // 500: trips, and the trip fails as well
		if _, err := n.Trip(t.Context(), "sku-1"); err == nil {
			t.Fatal("the trip went through")
		}
		pass(200 * time.Millisecond)
		n.hit("sku-1", 1)
		n.traffic.mu.Lock()
		n.traffic.fail = nil
		first := n.traffic.calls[0]
		n.traffic.mu.Unlock()
		pass(1100 * time.Millisecond)
		if got := n.traffic.sums["sku-1"]; got != 501 {
			t.Errorf("sku-1 counts %v", got)
		}
		if got := n.traffic.sums["sku-2"]; got != 7 {
			t.Errorf("sku-2 counts %v", got)
		}
		n.traffic.mu.Lock()
		defer n.traffic.mu.Unlock()
		if n.traffic.late > 0 {
			t.Errorf("%d samples came after a later one of their item", n.traffic.late)
		}
		for _, s := range first {
			if !n.traffic.counted[s.Seq] {
				t.Errorf("%s came with another number", s.Item)
			}
			if s.Item == "sku-1" && s.Counts[0].AgeMS < 3000 {
				t.Errorf("the ages did not follow: %+v", s.Counts)
			}
		}
	})
}

func TestCountsThatNoFlushCouldTakeAreDroppedWithTheirWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newScripted(), 1)
		n.traffic.fail = errors.New("the store is away")
		n.hit("sku-1", 100)
		pass(2 * time.Minute)
		n.traffic.mu.Lock()
		n.traffic.fail = nil
		n.traffic.mu.Unlock()
		pass(2 * time.Second)
		if got := n.traffic.sums["sku-1"]; got != 0 || n.Flusher.Dropped() != 100 {
			t.Errorf("sum %v, dropped %d", got, n.Flusher.Dropped())
		}
	})
}

func TestATripWithTheStoreAwayEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newScripted(), 1)
		n.traffic.slow = time.Minute
		n.hit("sku-1", 500)
		began := time.Now()
		_, err := n.Trip(t.Context(), "sku-1")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > patience {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if n.hit("sku-1", 50) != 0 {
			t.Error("the next requests ask at once again")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := n.Trip(ctx, "sku-1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own deadline: %v", err)
		}
		pass(time.Second)
	})
}

func TestTheLastCountsGoOutWhenANodeDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		traffic := newScripted()
		n := &node{Counter: NewCounter(), traffic: traffic}
		n.Flusher = NewFlusher(FlusherOptions{
			Counter: n.Counter, Traffic: traffic,
			Limits: func(queue.Item) queue.Limits { return queue.Limits{Trigger: sale.Trigger} },
		})
		ctx, stop := context.WithCancel(t.Context())
		go n.Run(ctx)
		pass(1550 * time.Millisecond)
		n.hit("sku-1", 3)
		stop()
		synctest.Wait()
		if traffic.sums["sku-1"] != 3 {
			t.Errorf("%v", traffic.sums)
		}
	})
}
