package heal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/heal"
)

func TestAQueueThatTheStoreLetGoOfIsOff(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(n *node){
		"an ask":     func(n *node) { n.ask("sku-1", queue.Ask{Visitor: visitor(0), Create: true}) },
		"a step":     func(n *node) { n.step("sku-1") },
		"with all":   func(n *node) { _ = n.RestoreAll(n.t.Context()) },
		"three ways": func(n *node) { n.step("sku-1"); n.step("sku-1"); n.ask("sku-1", queue.Ask{Visitor: visitor(0)}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, newStore())
			running(n, "sku-1")
			n.store.flush()
			n.store.clock.Add(11 * time.Minute)
			n.store.lost = false // it is the same store: it forgot a queue that went off while this node was away
			notice(n)
			if h := n.board.Get("sku-1"); h.On() || n.board.On() != 0 {
				t.Errorf("%+v", h)
			}
			if k := n.Known("sku-1"); k.LastScore != 0 || k.Inside != 0 || k.HoldMS != 0 {
				t.Errorf("still known: %+v", k)
			}
			if len(n.restored) != 0 || n.look("sku-1").Header.On() {
				t.Errorf("put back: %+v", n.restored)
			}
			later := n.order("sku-1", queue.SwitchOrder{Action: queue.Activate})
			if n.board.Get("sku-1") != later {
				t.Errorf("the next activation is not seen: %+v", n.board.Get("sku-1"))
			}
		})
	}
}

func TestRestoreAllPutsBackEachThatWasOn(t *testing.T) {
	t.Parallel()
	n := newNode(t, newStore())
	items := []queue.Item{"sku-1", "sku-2", "sku-3", "sku-4"}
	for _, item := range items {
		n.order(item, queue.SwitchOrder{Action: queue.Activate})
	}
	n.order("sku-4", queue.SwitchOrder{Action: queue.Deactivate})
	n.store.flush()
	broken := errors.New("the item is broken")
	n.store.broken = map[queue.Item]error{"sku-2": broken}
	if err := n.RestoreAll(t.Context()); !errors.Is(err, broken) {
		t.Errorf("the error of an item: %v", err)
	}
	for item, on := range map[queue.Item]bool{"sku-1": true, "sku-2": false, "sku-3": true, "sku-4": false} {
		if got := n.look(item).Header.On(); got != on {
			t.Errorf("%s: on %v", item, got)
		}
	}
	n.store.broken = nil
	if err := n.RestoreAll(t.Context()); err != nil || !n.look("sku-2").Header.On() || len(n.restored) != 3 {
		t.Errorf("%v, told of %d", err, len(n.restored))
	}
}

func TestTheFirstNodeToNoticeIsTheOneThatHeals(t *testing.T) {
	t.Parallel()
	s := newStore()
	a, b := newNode(t, s), newNode(t, s)
	b.board.Put(a.order("sku-1", queue.SwitchOrder{Action: queue.Activate}))
	a.join("sku-1", 0, 5)
	s.flush()
	a.step("sku-1")
	epoch := a.look("sku-1").Header.Epoch
	b.ask("sku-1", queue.Ask{Visitor: visitor(9)})
	if back, err := b.Restore(t.Context(), "sku-1"); !back || err != nil {
		t.Errorf("%v, %v", back, err)
	}
	if h := b.board.Get("sku-1"); h.Epoch != epoch || b.look("sku-1").Header.Epoch != epoch {
		t.Errorf("epoch %d, want %d", h.Epoch, epoch)
	}
	if len(a.restored) != 1 || len(b.restored) != 0 {
		t.Errorf("told %d and %d times, want once in all", len(a.restored), len(b.restored))
	}
}

func TestAStoreThatFellBackLearnsWhatTheNodeKnows(t *testing.T) { // heals
	t.Parallel()
	s := newStore()
	n := newNode(t, s)
	n.order("sku-1", queue.SwitchOrder{Action: queue.Activate})
	last := n.join("sku-1", 0, 5).Answers[4].Score
	before := n.board.Get("sku-1")
	// A replica that lagged behind has the queue, but neither the pause nor the inflow set by hand.
	paused := before
	paused.State, paused.Override, paused.Inflow, paused.Version = queue.Paused, ptr(3), 3, before.Version+5
	n.board.Put(paused)
	s.clock.Add(time.Second)

	r := n.step("sku-1")[0]
	if !r.Restored || r.Header.State != queue.Paused || r.Header.Inflow != 3 || r.Header.Generation != before.Generation ||
		r.Header.Epoch == before.Epoch || r.Header.Version <= paused.Version || r.LastScore < last {
		t.Errorf("%+v", r)
	}
	if r.Counts.Waiting != 5 || r.Counts.Restored != 5 || !r.Counts.Balanced() {
		t.Errorf("the line of the replica: %+v", r.Counts)
	}
	if len(n.restored) != 1 || n.board.Get("sku-1") != r.Header {
		t.Errorf("told of %+v, board %+v", n.restored, n.board.Get("sku-1"))
	}
	if again := n.step("sku-1")[0]; again.Restored || again.Header != r.Header || len(n.restored) != 1 {
		t.Errorf("healed again: %+v", again)
	}
}

func TestWhatALostStoreSaysIsNotBelieved(t *testing.T) {
	t.Parallel()
	n := newNode(t, newStore())
	running(n, "sku-1")
	before := n.board.Get("sku-1")
	n.store.flush()
	n.lostErr = queue.ErrStoreDown
	if _, err := n.Ask(t.Context(), "sku-1", []queue.Ask{{Visitor: visitor(0)}}); !errors.Is(err, queue.ErrStoreDown) {
		t.Errorf("an ask: %v", err)
	}
	_, errs := n.StepMany(t.Context(), []queue.Item{"sku-1"}, []queue.StepOrder{{Limits: n.limits}})
	if !errors.Is(errs[0], queue.ErrStoreDown) {
		t.Errorf("a step: %v", errs[0])
	}
	if err := n.RestoreAll(t.Context()); !errors.Is(err, queue.ErrStoreDown) {
		t.Errorf("all: %v", err)
	}
	if n.board.Get("sku-1") != before || n.Known("sku-1").Inside != 10 {
		t.Errorf("forgotten: %+v", n.Known("sku-1"))
	}
}

func TestAnItemsErrorStopsNoOther(t *testing.T) { // isolated
	t.Parallel()
	n := newNode(t, newStore())
	for _, item := range []queue.Item{"sku-1", "sku-2"} {
		n.order(item, queue.SwitchOrder{Action: queue.Activate})
	}
	n.store.flush()
	broken := errors.New("the item is broken")
	n.store.broken = map[queue.Item]error{"sku-1": broken}
	orders := []queue.StepOrder{{Limits: n.limits}, {Limits: n.limits}}
	reports, errs := n.StepMany(t.Context(), []queue.Item{"sku-1", "sku-2"}, orders)
	if !errors.Is(errs[0], broken) || errs[1] != nil || !reports[1].Header.On() {
		t.Errorf("%v, %+v", errs, reports[1])
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	n := newNode(t, newStore())
	n.Told("sku-1", n.store.clock.Now().Add(time.Hour).UnixMilli())
	if k := n.Known("sku-1"); k.Header.On() || k.LastScore != 0 || k.HoldMS != 0 {
		t.Errorf("of an item without a queue: %+v", k)
	}
	last := running(n, "sku-1")
	if k := n.Known("sku-1"); k.LastScore != last || k.Inside != 10 || k.HoldMS != 0 || k.Header != n.board.Get("sku-1") {
		t.Errorf("%+v, want last %d", k, last)
	}
	n.Told("sku-1", n.store.clock.Now().Add(5*time.Second).UnixMilli())
	if n.store.clock.Add(2 * time.Second); n.Known("sku-1").HoldMS != 3000 {
		t.Errorf("hold %d, want what is left of it", n.Known("sku-1").HoldMS)
	}
	if n.store.clock.Add(time.Minute); n.Known("sku-1").HoldMS != 0 {
		t.Errorf("hold %d after it is over", n.Known("sku-1").HoldMS)
	}
	// A node that starts while the store is away has the header from its file, and what it tells people itself.
	fresh := newNode(t, newStore())
	fresh.board.Put(n.board.Get("sku-1"))
	fresh.Told("sku-1", fresh.store.clock.Now().Add(5*time.Second).UnixMilli())
	if k := fresh.Known("sku-1"); k.HoldMS != 5000 {
		t.Errorf("hold %d at a node that has not met the store", k.HoldMS)
	}
}

func TestALotIsNoArrival(t *testing.T) {
	t.Parallel()
	n := newNode(t, newStore())
	n.limits.Random = true
	n.order("sku-1", queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale})
	a := n.ask("sku-1", queue.Ask{Visitor: visitor(1), Create: true, Lot: queue.MaxLot - 1}).Answers[0]
	if a.Outcome != queue.Waiting || a.Score != queue.MaxLot-1 {
		t.Fatalf("%+v", a)
	}
	if k := n.Known("sku-1"); k.LastScore != 0 {
		t.Errorf("%+v", k)
	}
	if n.step("sku-1"); len(n.restored) != 0 {
		t.Errorf("taken for a loss: %+v", n.restored)
	}
}

func TestAReleaseIsToldOf(t *testing.T) {
	t.Parallel()
	n := newNode(t, newStore())
	n.order("sku-1", queue.SwitchOrder{Action: queue.Activate})
	n.order("sku-1", queue.SwitchOrder{Action: queue.Drain})
	r := n.step("sku-1")[0]
	if !r.Released || len(n.released) != 1 || n.released[0].Reason != "drained" || n.board.Get("sku-1").On() {
		t.Errorf("%+v, told of %+v", r, n.released)
	}
	if k := n.Known("sku-1"); k.LastScore != 0 || k.Inside != 0 {
		t.Errorf("still known: %+v", k)
	}
}

// An answer that found nothing may be from before another node put the queue back: by then it is on.
func TestAQueueThatWasPutBackMeanwhileIsNotOff(t *testing.T) {
	t.Parallel()
	s := newStore()
	n, other := newNode(t, s), newNode(t, s)
	n.order("sku-1", queue.SwitchOrder{Action: queue.Activate})
	other.board.Put(n.board.Get("sku-1"))
	s.flush()
	other.join("sku-1", 0, 1) // puts it back
	s.lost = false            // and this node has met the store since
	if on, err := n.Restore(t.Context(), "sku-1"); err != nil || !on {
		t.Fatalf("on %v, %v", on, err)
	}
	if h := n.board.Get("sku-1"); h != other.board.Get("sku-1") {
		t.Errorf("this node knows %+v, the other %+v", h, other.board.Get("sku-1"))
	}
}

// damagedStore is a store that cannot read an item until the item was put back.
type damagedStore struct {
	*store
	restores int
}

func (d *damagedStore) Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	if o.Action == queue.Restore {
		d.restores++
		delete(d.broken, item)
	}
	return d.store.Switch(ctx, item, o)
}

func (d *damagedStore) Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error) {
	if err := d.broken[item]; err != nil {
		return queue.Answers{}, err
	}
	return d.store.Ask(ctx, item, asks)
}

// A damaged item is mended on whatever way it is found to be, once, and what was asked is done.
func TestADamagedItemIsMendedOnEveryWay(t *testing.T) { // isolated
	t.Parallel()
	for way, do := range map[string]func(n *node, l *heal.Line) error{
		"an ask": func(n *node, l *heal.Line) error {
			_, err := l.Ask(t.Context(), "sku-1", []queue.Ask{{Visitor: visitor(1), Create: true}})
			return err
		},
		"a step": func(n *node, l *heal.Line) error {
			_, errs := l.StepMany(t.Context(), []queue.Item{"sku-1"}, []queue.StepOrder{{Limits: n.limits, Most: 300}})
			return errs[0]
		},
		"an order": func(n *node, l *heal.Line) error {
			_, err := l.Switch(t.Context(), "sku-1", queue.SwitchOrder{Action: queue.Pause, Limits: n.limits})
			return err
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newStore()
			n := newNode(t, s)
			n.order("sku-1", queue.SwitchOrder{Action: queue.Activate})
			d := &damagedStore{store: s}
			l := heal.New(heal.Options{
				Line: d, Board: &n.board, Clock: s.clock, Limits: func(queue.Item) queue.Limits { return n.limits },
				Lost: func(context.Context) (bool, error) { return false, nil },
			})
			s.broken = map[queue.Item]error{"sku-1": fmt.Errorf("read: %w", queue.ErrDamaged)}
			for range 2 {
				if err := do(n, l); err != nil {
					t.Fatal(err)
				}
			}
			if d.restores != 1 {
				t.Errorf("put back %d times", d.restores)
			}
		})
	}
}
