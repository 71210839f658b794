package redistraffic_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/redistraffic"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

func TestMain(m *testing.M) { redistest.Main(m) }

var start = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)

// world is the traffic of one item, counted by named nodes on a virtual clock.
type world struct {
	t       *testing.T
	clock   *clock.Hand
	line    *redisline.Line
	traffic *redistraffic.Traffic
	policy  queue.Policy
	version int64
	seq     int64
}

func newWorld(t *testing.T) *world {
	s := redistest.Shared(t)
	c := clock.At(start)
	line := redisline.New(redisline.Options{Client: s.Client(), Prefix: s.Prefix(), Clock: c})
	return &world{t: t, clock: c, line: line, traffic: redistraffic.New(line), policy: queue.DefaultPolicy(), version: 1}
}

// count sends n requests of this instant as one node's sample.
func (w *world) count(node string, n int64) detector.Verdict {
	w.t.Helper()
	w.seq++
	return w.send(detector.Sample{Node: node, Seq: w.seq, Counts: []detector.Bucket{{N: n}}})
}

func (w *world) send(s detector.Sample) detector.Verdict {
	w.t.Helper()
	s.Item, s.Limits = "sku-1", w.policy.Limits(w.version)
	got, err := w.traffic.Flush(w.t.Context(), []detector.Sample{s})
	if err != nil {
		w.t.Fatalf("flush: %v", err)
	}
	if got[0].Err != nil {
		w.t.Fatalf("flush: %v", got[0].Err)
	}
	return got[0]
}

func (w *world) want(v detector.Verdict, requests float64, on bool) {
	w.t.Helper()
	if v.Requests != requests || v.Header.On() != on {
		w.t.Errorf("requests %v, on %v; want %v, %v", v.Requests, v.Header.On(), requests, on)
	}
}

// B017, B124: equal instants all count, and what has left the window is gone before the count is compared.
func TestFlush(t *testing.T) {
	t.Parallel()
	t.Run("a burst just below the trigger leaves the queue off", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.want(w.count("a", 490), 490, false)
		w.clock.Add(2 * time.Second)
		w.want(w.send(detector.Sample{Node: "a", Seq: 99}), 490, false)
	})
	t.Run("the trigger is reached by two nodes together, once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.want(w.count("a", 300), 300, false)
		v := w.count("b", 210)
		w.want(v, 510, true)
		if !v.Activated || v.Header.Cause != queue.ByDetector || v.Header.By != detector.ByRequests {
			t.Errorf("verdict %+v", v)
		}
		if again := w.count("a", 600); again.Activated || again.Header.Generation != v.Header.Generation {
			t.Errorf("activated twice: %+v", again)
		}
	})
	t.Run("one request after a quiet time sees the new number", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			after time.Duration
			want  float64
			on    bool
		}{{10600 * time.Millisecond, 1, false}, {10250 * time.Millisecond, 1, false}, {9400 * time.Millisecond, 500, true}} {
			w := newWorld(t)
			w.count("a", 499)
			w.clock.Add(c.after)
			w.want(w.count("a", 1), c.want, c.on)
		}
	})
	t.Run("a sample that comes again counts once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		s := detector.Sample{Node: "a", Seq: 7, Counts: []detector.Bucket{{N: 100}}}
		w.want(w.send(s), 100, false)
		w.want(w.send(s), 100, false)
	})
	t.Run("samples that overtake one another all count, and each of them once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		total := int64(0)
		for round := range int64(20) {
			base := 1_764_586_800_000_000 + 1000*round // as the numbers of a node are
			for _, seq := range []int64{base + 7, base + 3, base + 5, base + 2} {
				s := detector.Sample{Node: "a", Seq: seq, Counts: []detector.Bucket{{N: 1}}}
				total++
				w.want(w.send(s), float64(total), false)
				w.want(w.send(s), float64(total), false) // its answer was lost
			}
			w.want(w.send(detector.Sample{Node: "a", Seq: base + 3, Counts: []detector.Bucket{{N: 1}}}), float64(total), false)
		}
		w.want(w.send(detector.Sample{Node: "a", Seq: 1_764_586_800_000_003, Counts: []detector.Bucket{{N: 1}}}), float64(total), false) // of long ago
		w.want(w.send(detector.Sample{Node: "b", Seq: 3, Counts: []detector.Bucket{{N: 1}}}), float64(total+1), false)
	})
	t.Run("two bursts across a full second are one window", func(t *testing.T) { // B022
		t.Parallel()
		w := newWorld(t)
		w.clock.Add(9500 * time.Millisecond)
		for range 4 {
			w.count("a", 75)
			w.clock.Add(100 * time.Millisecond)
		}
		w.clock.Add(200 * time.Millisecond)
		w.want(w.count("a", 199), 499, false)
		w.want(w.count("a", 1), 500, true)
		w.want(w.count("a", 100), 600, true)
	})
	t.Run("little traffic never adds up, and leaves nothing behind", func(t *testing.T) { // B125
		t.Parallel()
		w := newWorld(t)
		for range 30 {
			if v := w.count("a", 1); v.Requests > 2 {
				t.Fatalf("counted %v", v.Requests)
			}
			w.clock.Add(9 * time.Second)
		}
	})
	t.Run("a window made longer or shorter holds at most what both held", func(t *testing.T) { // B125
		t.Parallel()
		w := newWorld(t)
		w.policy.TriggerWindowSeconds = 600
		w.count("a", 100)
		w.clock.Add(300 * time.Second)
		w.count("a", 50)
		w.policy.TriggerWindowSeconds, w.version = 10, 2
		w.want(w.count("a", 1), 51, false)
		w.policy.TriggerWindowSeconds, w.version = 1, 3
		w.clock.Add(1500 * time.Millisecond)
		w.want(w.count("a", 1), 1, false)
	})
}

// Each of the three triggers trips by itself.
func TestTriggers(t *testing.T) {
	t.Parallel()
	visitors := func(n int) []queue.Visitor {
		vs := make([]queue.Visitor, n)
		for i := range vs {
			vs[i] = queue.NewVisitor()
		}
		return vs
	}
	for _, c := range []struct {
		name   string
		policy func(*queue.Policy)
		sample detector.Sample
		by     string
	}{
		{"requests", func(p *queue.Policy) { p.TriggerRequests = 5 }, detector.Sample{Counts: []detector.Bucket{{N: 5}}}, detector.ByRequests},
		{"newcomers", func(p *queue.Policy) { p.TriggerNewVisitorsPerMinute = 5 }, detector.Sample{Newcomers: []detector.Bucket{{N: 5}}}, detector.ByNewcomers},
		{"active users", func(p *queue.Policy) { p.TriggerActiveUsers = 100 }, detector.Sample{Active: visitors(110)}, detector.ByActive},
	} {
		t.Run(c.name+" alone turn the queue on", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.policy(&w.policy)
			c.sample.Node, c.sample.Seq = "a", 1
			v := w.send(c.sample)
			if !v.Activated || v.Header.By != c.by {
				t.Errorf("activated %v by %q; want by %q", v.Activated, v.Header.By, c.by)
			}
		})
	}
}

func TestActiveUsersAreThoseOfTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.TriggerActiveUsers, w.policy.SessionSeconds = 100_000, 60
	var seq int64
	add := func(n int) float64 {
		seq++
		s := detector.Sample{Node: "a", Seq: seq}
		for i := range n {
			s.Active = append(s.Active, queue.VisitorOf([]byte(fmt.Sprintf("%03d-%08d", seq, i))))
		}
		return w.send(s).Active
	}
	add(2000)
	w.clock.Add(30 * time.Second)
	if got := add(1000); got < 2850 || got > 3150 {
		t.Errorf("active %v; want 3000 within 5 %%", got)
	}
	w.clock.Add(33 * time.Second)
	if got := add(0); got < 950 || got > 1050 {
		t.Errorf("active %v after the first have gone; want 1000 within 5 %%", got)
	}
	w.clock.Add(63 * time.Second)
	if got := add(0); got != 0 {
		t.Errorf("active %v after all have gone; want 0", got)
	}
}

func TestTurnedOffByHandStaysOffUntilTrafficWasLow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.count("a", 600)
	if _, err := w.line.Switch(t.Context(), "sku-1", queue.SwitchOrder{Action: queue.Deactivate}); err != nil {
		t.Fatal(err)
	}
	w.clock.Add(time.Second)
	w.want(w.count("a", 600), 1200, false)
	w.clock.Add(11 * time.Second)
	w.want(w.count("a", 10), 10, false)
	w.want(w.count("a", 600), 610, true)
}

// One item's broken key is that item's trouble.
func TestAnItemWithAKeyOfTheWrongTypeDelaysNoOther(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	line := redisline.New(redisline.Options{Client: s.Client(), Prefix: s.Prefix()})
	traffic := redistraffic.New(line)
	for _, key := range []string{"{bad}:traffic", "{worse}:queue"} {
		if err := s.Client().Set(t.Context(), s.Prefix()+key, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	limits := queue.DefaultPolicy().Limits(1)
	got, err := traffic.Flush(t.Context(), []detector.Sample{
		{Item: "bad", Limits: limits, Node: "a", Seq: 1, Counts: []detector.Bucket{{N: 1}}},
		{Item: "worse", Limits: limits, Node: "a", Seq: 2, Counts: []detector.Bucket{{N: 1}}},
		{Item: "good", Limits: limits, Node: "a", Seq: 3, Counts: []detector.Bucket{{N: 600}}},
	})
	if err != nil || len(got) != 3 {
		t.Fatalf("%d verdicts, %v", len(got), err)
	}
	if got[0].Err != nil || got[0].Requests != 1 {
		t.Errorf("traffic that is none is begun anew: %+v", got[0])
	}
	if !errors.Is(got[1].Err, queue.ErrDamaged) || !got[2].Activated {
		t.Errorf("verdicts %+v", got[1:])
	}
}
