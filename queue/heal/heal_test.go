package heal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/heal"
	"github.com/sluicehq/sluice/queue/memline"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// store is a line in memory that can be lost as a whole, or be broken at some items.
type store struct {
	*memline.Line
	clock  *clock.Hand
	lost   bool // since a node last looked
	broken map[queue.Item]error
}

// flush loses everything.
func (s *store) flush() { s.Line, s.lost = memline.New(memline.Options{Clock: s.clock}), true }

func (s *store) StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) ([]queue.StepReport, []error) {
	reports, errs := make([]queue.StepReport, len(items)), make([]error, len(items))
	for i, item := range items {
		if errs[i] = s.broken[item]; errs[i] == nil {
			reports[i], errs[i] = s.Step(ctx, item, orders[i])
		}
	}
	return reports, errs
}

func (s *store) Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	if err := s.broken[item]; err != nil {
		return queue.SwitchReport{}, err
	}
	return s.Line.Switch(ctx, item, o)
}

// node is one node over a store.
type node struct {
	*heal.Line
	t        *testing.T
	store    *store
	board    queue.Board
	limits   queue.Limits
	lostErr  error
	restored []queue.Header
	released []queue.StepReport
}

func newStore() *store {
	s := &store{clock: clock.At(noon)}
	s.flush()
	s.lost = false
	return s
}

func newNode(t *testing.T, s *store) *node {
	n := &node{t: t, store: s, limits: queue.DefaultPolicy().Limits(1)}
	n.Line = heal.New(heal.Options{
		Line: s, Board: &n.board, Clock: s.clock,
		Limits:   func(queue.Item) queue.Limits { return n.limits },
		Lost:     func(context.Context) (bool, error) { return s.lost, n.lostErr },
		Restored: func(h queue.Header) { n.restored = append(n.restored, h) },
		Released: func(r queue.StepReport) {
			if !n.board.Get(r.Header.Item).On() {
				t.Error("told of a release after the board was")
			}
			n.released = append(n.released, r)
		},
	})
	return n
}

// order has an operator do something to an item, past this node's healing, as the admin API does.
func (n *node) order(item queue.Item, o queue.SwitchOrder) queue.Header {
	n.t.Helper()
	o.Limits, o.By = n.limits, "kim"
	if o.Cause == "" {
		o.Cause = queue.ByOperator
	}
	r, err := n.store.Line.Switch(n.t.Context(), item, o)
	if err != nil {
		n.t.Fatal(err)
	}
	n.board.Put(r.Header)
	return r.Header
}

func (n *node) ask(item queue.Item, asks ...queue.Ask) queue.Answers {
	n.t.Helper()
	got, err := n.Ask(n.t.Context(), item, asks)
	if err != nil {
		n.t.Fatal(err)
	}
	return got
}

// join has visitors from..from+k-1 ask for a place.
func (n *node) join(item queue.Item, from, k int) queue.Answers {
	n.t.Helper()
	var asks []queue.Ask
	for i := range k {
		asks = append(asks, queue.Ask{Visitor: visitor(from + i), Create: true})
	}
	return n.ask(item, asks...)
}

func (n *node) step(items ...queue.Item) []queue.StepReport {
	n.t.Helper()
	orders := make([]queue.StepOrder, len(items))
	for i := range orders {
		orders[i] = queue.StepOrder{Limits: n.limits, Most: 300, TickMS: 250}
	}
	reports, errs := n.StepMany(n.t.Context(), items, orders)
	if err := errors.Join(errs...); err != nil {
		n.t.Fatal(err)
	}
	return reports
}

func (n *node) look(item queue.Item) queue.Snapshot {
	n.t.Helper()
	got, err := n.store.Look(n.t.Context(), item)
	if err != nil {
		n.t.Fatal(err)
	}
	return got
}

func visitor(i int) queue.Visitor { return queue.Visitor(fmt.Sprintf("visitor-%08d", i)) }

func ptr(f float64) *float64 { return &f }

// running sets up a paused queue with an inflow set by hand, 10 people inside and 30 in line.
func running(n *node, item queue.Item) (last int64) {
	n.t.Helper()
	n.order(item, queue.SwitchOrder{Action: queue.Activate})
	n.join(item, 0, 40)
	n.step(item)
	n.order(item, queue.SwitchOrder{Action: queue.SetInflow, Inflow: ptr(10)})
	for range 4 { // the bucket gains ten a second
		n.store.clock.Add(250 * time.Millisecond)
		n.step(item)
	}
	n.order(item, queue.SwitchOrder{Action: queue.Pause})
	if c := n.step(item)[0].Counts; c.Waiting != 30 || c.Running != 10 {
		n.t.Fatalf("%+v", c)
	}
	return n.look(item).LastScore
}

func TestAQueueThatTheStoreLostIsPutBack(t *testing.T) { // heals
	t.Parallel()
	for name, notice := range map[string]func(n *node){
		"by an ask":      func(n *node) { n.ask("sku-1", queue.Ask{Visitor: visitor(0)}) },
		"by a step":      func(n *node) { n.step("sku-1") },
		"by hand":        func(n *node) { _, _ = n.Restore(n.t.Context(), "sku-1") },
		"with all":       func(n *node) { _ = n.RestoreAll(n.t.Context()) },
		"by three nodes": func(n *node) { n.step("sku-1"); n.step("sku-1"); _ = n.RestoreAll(n.t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, newStore())
			last := running(n, "sku-1")
			n.Told("sku-1", n.store.clock.Now().Add(7*time.Second).UnixMilli())
			n.Told("sku-1", n.store.clock.Now().Add(3*time.Second).UnixMilli()) // somebody nearer, told sooner
			before := n.board.Get("sku-1")
			n.store.flush()
			n.store.clock.Add(time.Second)
			notice(n)

			got := n.look("sku-1")
			h := got.Header
			if h.State != queue.Paused || h.Generation != before.Generation || h.Override == nil || *h.Override != 10 || h.Inflow != 10 ||
				h.Cause != queue.ByOperator || h.By != "kim" || h.ActivatedMS != before.ActivatedMS || h.PassesFrom != before.PassesFrom {
				t.Errorf("%+v, want that of %+v", h, before)
			}
			if h.Epoch == before.Epoch || h.Version <= before.Version {
				t.Errorf("epoch %d and version %d after %d and %d", h.Epoch, h.Version, before.Epoch, before.Version)
			}
			if got.LastScore < last || got.Counts.Reserved != 10 {
				t.Errorf("last %d after %d, %+v", got.LastScore, last, got.Counts)
			}
			if until := n.store.clock.Now().Add(6 * time.Second).UnixMilli(); got.HoldMS != until {
				t.Errorf("hold until %d, want %d: when the last one told to asks again", got.HoldMS, until)
			}
			if n.board.Get("sku-1") != h || len(n.restored) != 1 || n.restored[0] != h {
				t.Errorf("board %+v, told of %+v", n.board.Get("sku-1"), n.restored)
			}
		})
	}
}

func TestWhoHasATicketComesBackToTheOldPlace(t *testing.T) { // heals
	t.Parallel()
	n := newNode(t, newStore())
	n.order("sku-1", queue.SwitchOrder{Action: queue.Activate})
	old := n.join("sku-1", 0, 3)
	n.store.flush()
	n.store.clock.Add(time.Second)
	if a := n.join("sku-1", 100, 1); a.Answers[0].Outcome != queue.Waiting || a.Answers[0].Score <= old.Answers[2].Score {
		t.Fatalf("a newcomer: %+v, behind %+v", a.Answers, old.Answers)
	}
	var scores []int64
	for i := range 3 {
		tk := queue.Ticket{Generation: old.Header.Generation, Epoch: old.Header.Epoch, Score: old.Answers[i].Score, IssuedMS: old.NowMS}
		a := n.ask("sku-1", queue.Ask{Visitor: visitor(i), Ticket: &tk}).Answers[0]
		if a.Outcome != queue.Waiting || !a.Returned || a.Score != tk.Score || a.Position != int64(i+1) {
			t.Errorf("visitor %d: %+v", i, a)
		}
		scores = append(scores, a.Score)
	}
	if c := n.look("sku-1").Counts; c.Restored != 3 || c.Joined != 1 || !c.Balanced() || !slices.IsSorted(scores) {
		t.Errorf("%+v", c)
	}
}

// The store is wiped in the very moment in which a sale opens a queue, or an operator orders something: nobody has looked
// since, and the order itself finds the queue gone.
func TestAnOrderToAQueueThatTheStoreLostStartsNoNewGeneration(t *testing.T) { // heals
	t.Parallel()
	for name, o := range map[string]queue.SwitchOrder{
		"a sale opens":      {Action: queue.Activate, Cause: queue.BySale, By: "Friday (friday@1)"},
		"a sale is put off": {Action: queue.Gather, Cause: queue.BySale, By: "Friday (friday@2)", OpensMS: 2},
		"by hand":           {Action: queue.Activate, Cause: queue.ByOperator, By: "kim"},
		"it closes":         {Action: queue.Close, Cause: queue.BySale, By: "Friday (friday@1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, newStore())
			before := n.order("sku-1", queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale, OpensMS: 1})
			old := n.join("sku-1", 0, 3)
			n.store.flush()
			n.store.clock.Add(2 * time.Second)
			o.Limits = n.limits
			got, err := n.Switch(t.Context(), "sku-1", o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Header.Generation != before.Generation || got.Header.PassesFrom != before.PassesFrom || len(n.restored) != 1 {
				t.Errorf("%+v, want the generation of %+v; put back %d times", got.Header, before, len(n.restored))
			}
			if o.Action == queue.Close {
				return
			}
			tk := queue.Ticket{Generation: old.Header.Generation, Epoch: old.Header.Epoch, Score: old.Answers[1].Score, IssuedMS: old.NowMS}
			a := n.ask("sku-1", queue.Ask{Visitor: visitor(1), Ticket: &tk}).Answers[0]
			if a.Outcome != queue.Waiting || !a.Returned || a.Score != tk.Score {
				t.Errorf("who comes back: %+v, want the place %d", a, tk.Score)
			}
		})
	}
}
