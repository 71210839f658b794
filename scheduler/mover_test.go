package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
	"github.com/sluicehq/sluice/scheduler"
)

var noon = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)

// stand is some movers over one line on a clock in hand.
type stand struct {
	t      *testing.T
	clock  *clock.Hand
	line   *memline.Line
	board  *queue.Board
	policy queue.Policy
	broken queue.Item // its steps fail

	mu       sync.Mutex
	steps    map[queue.Item]int
	admitted map[queue.Item][]time.Duration // instants since noon
	failed   []queue.Item
}

func newStand(t *testing.T) *stand {
	c := clock.At(noon)
	return &stand{
		t: t, clock: c, line: memline.New(memline.Options{Clock: c}), board: &queue.Board{}, policy: queue.DefaultPolicy(),
		steps: map[queue.Item]int{}, admitted: map[queue.Item][]time.Duration{},
	}
}

// StepMany steps one after the other, and fails for the broken item.
func (s *stand) StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) ([]queue.StepReport, []error) {
	reports, errs := make([]queue.StepReport, len(items)), make([]error, len(items))
	for i, item := range items {
		if item == s.broken {
			errs[i] = errors.New("WRONGTYPE")
			continue
		}
		reports[i], errs[i] = s.line.Step(ctx, item, orders[i])
	}
	return reports, errs
}

func (s *stand) mover(share *scheduler.Share) *scheduler.Mover {
	return scheduler.NewMover(scheduler.MoverOptions{
		Line: s, Board: s.board, Share: share, Clock: s.clock,
		Limits: func(queue.Item) queue.Limits { return s.policy.Limits(1) },
		Did: func(r queue.StepReport, _ time.Duration) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.steps[r.Header.Item]++
			for range r.Admitted {
				s.admitted[r.Header.Item] = append(s.admitted[r.Header.Item], s.clock.Now().Sub(noon))
			}
			s.board.Put(r.Header)
		},
		Failed: func(item queue.Item, _ error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failed = append(s.failed, item)
		},
	})
}

// on turns an item's queue on and lines people up.
func (s *stand) on(item queue.Item, people int) {
	s.t.Helper()
	r, err := s.line.Switch(s.t.Context(), item, queue.SwitchOrder{
		Action: queue.Activate, Limits: s.policy.Limits(1), Cause: queue.ByOperator,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.board.Put(r.Header)
	var asks []queue.Ask
	for range people {
		asks = append(asks, queue.Ask{Visitor: queue.NewVisitor(), Create: true})
	}
	if _, err := s.line.Ask(s.t.Context(), item, asks); err != nil {
		s.t.Fatal(err)
	}
}

// run lets time pass; every phase each mover ticks, unless it stalls.
func (s *stand) run(d time.Duration, movers []*scheduler.Mover, stalls func(mover int, at time.Duration) bool) {
	phase := movers[0].Phase()
	for at := time.Duration(0); at < d; at += phase {
		s.clock.Add(phase)
		for i, m := range movers {
			if stalls == nil || !stalls(i, at) {
				m.Tick(s.t.Context())
			}
		}
	}
}

// Invariant exact-inflow, by movers that share the items, race for them, come and go.
func TestInflowIsExactWithAnyNumberOfMovers(t *testing.T) {
	t.Parallel()
	for _, movers := range []int{1, 3, 8} {
		for _, inflow := range []float64{60, 7.3, 0.2, 333} {
			t.Run(fmt.Sprintf("%d movers let in %v a second", movers, inflow), func(t *testing.T) {
				t.Parallel()
				s := newStand(t)
				s.policy.InflowPerSecond, s.policy.AbandonSeconds = inflow, 86400
				s.on("sku-1", int(inflow*70)+10)
				var ms []*scheduler.Mover
				for i := range movers {
					m := s.mover(scheduler.NewShare(fmt.Sprint(i))) // each believes that the item is its own
					m.Wake("sku-1")
					ms = append(ms, m)
				}
				s.run(62*time.Second, ms, func(mover int, at time.Duration) bool {
					return mover > 0 && int(at/(5*time.Second))%2 == mover%2 // all but one drop out at times
				})
				exact(t, s.admitted["sku-1"], inflow)
			})
		}
	}
}

// exact holds a list of admissions to the inflow.
func exact(t *testing.T, at []time.Duration, inflow float64) {
	t.Helper()
	for i := range at {
		for j := i; j < len(at); j++ {
			span := (at[j] - at[i]).Seconds()
			if n := float64(j - i + 1); n > inflow*span+inflow+1 {
				t.Fatalf("%v let in within %.3f s at %v a second", n, span, inflow)
			}
		}
	}
	n := 0.0
	for _, a := range at {
		if a > time.Second && a <= 61*time.Second {
			n++
		}
	}
	if off := n - inflow*60; off > max(1, inflow*0.6) || off < -max(1, inflow*0.6) {
		t.Errorf("%v let in over 60 s, want %v", n, inflow*60)
	}
}

func TestAMoverStepsItsShareAlone(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	nodes := []string{"a", "b"}
	all := shares(nodes...)
	var ms []*scheduler.Mover
	for _, share := range all {
		ms = append(ms, s.mover(share))
	}
	for k := range 20 {
		s.on(queue.Item(fmt.Sprintf("sku-%d", k)), 100)
	}
	for _, m := range ms {
		m.WakeAll()
	}
	s.run(10*time.Second, ms, nil)
	for item, n := range s.steps {
		if n < 38 || n > 45 { // 10 s at a tick of 250 ms
			t.Errorf("item %s was stepped %d times in 10 s, want about 40", item, n)
		}
	}
	all[0].Set([]string{"a"}) // b is gone
	ms[0].WakeAll()
	clear(s.steps)
	s.run(time.Second, ms[:1], nil)
	if len(s.steps) != 20 {
		t.Errorf("the living node steps %d items after the other died, want 20", len(s.steps))
	}
}

func TestAnItemThatFailsDelaysNoOther(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.broken = "bad"
	s.on("bad", 10)
	s.on("good", 200)
	m := s.mover(scheduler.NewShare("a"))
	m.WakeAll()
	s.run(3*time.Second, []*scheduler.Mover{m}, nil)
	if n := len(s.admitted["good"]); n < 140 {
		t.Errorf("%d let in at the good item in 3 s at 50 a second", n)
	}
	if n := len(s.failed); n == 0 || n > 10 {
		t.Errorf("the bad item was tried %d times in 3 s", n)
	}
}

func TestAnIdleQueueIsSteppedEachSecondOnly(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.on("sku-1", 0)
	m := s.mover(scheduler.NewShare("a"))
	m.WakeAll()
	s.run(12*time.Second, []*scheduler.Mover{m}, nil)
	clear(s.steps)
	s.run(20*time.Second, []*scheduler.Mover{m}, nil)
	if n := s.steps["sku-1"]; n > 22 {
		t.Errorf("an idle queue was stepped %d times in 20 s", n)
	}
}

// B055: a clock that is wrong for a while and set right stops no mover until it reads again what it read.
func TestAClockThatIsSetBackStopsNoMover(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.on("sku-1", 1000)
	m := s.mover(scheduler.NewShare("a"))
	m.WakeAll()
	for _, jump := range []time.Duration{0, 2 * time.Hour, time.Minute - 2*time.Hour, -time.Hour} {
		s.clock.Add(jump)
		before := len(s.admitted["sku-1"])
		s.run(5*time.Second, []*scheduler.Mover{m}, nil)
		if n := len(s.admitted["sku-1"]) - before; n < 225 || n > 300 { // a full bucket more
			t.Errorf("%d let in within 5 s at 50 a second after a jump of %v", n, jump)
		}
	}
}

func TestAQueueThatIsOffIsSteppedNoMore(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.on("sku-1", 1)
	m := s.mover(scheduler.NewShare("a"))
	m.WakeAll()
	s.run(time.Second, []*scheduler.Mover{m}, nil)
	r, err := s.line.Switch(t.Context(), "sku-1", queue.SwitchOrder{Action: queue.Deactivate})
	if err != nil {
		t.Fatal(err)
	}
	s.board.Put(r.Header)
	clear(s.steps)
	s.run(2*time.Second, []*scheduler.Mover{m}, nil)
	if n := s.steps["sku-1"]; n > 1 {
		t.Errorf("stepped %d times after it was off", n)
	}
}

// B029 and its kind: a long backlog is worked off in small steps within the tick.
func TestALongBacklogIsWorkedOffInSteps(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.policy.InflowPerSecond = 0
	s.on("sku-1", 5000)
	if _, err := s.line.Switch(t.Context(), "sku-1", queue.SwitchOrder{Action: queue.Admit, Count: 3000}); err != nil {
		t.Fatal(err)
	}
	m := s.mover(scheduler.NewShare("a"))
	m.WakeAll()
	s.run(100*time.Millisecond, []*scheduler.Mover{m}, nil)
	if n := len(s.admitted["sku-1"]); n != 3000 {
		t.Errorf("%d let in, want 3000", n)
	}
	if s.steps["sku-1"] < 10 {
		t.Errorf("%d steps for 3000 visitors: a step moves at most 300", s.steps["sku-1"])
	}
}
