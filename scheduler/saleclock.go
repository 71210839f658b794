package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// SaleClock does what sales plan: it compares each queue with the sale that is on and makes up the difference, so that a
// step that was missed, an edited sale and a store that has lost its data need nothing of their own. Any number of nodes
// may run one: the store does each step once. All fields are required.
type SaleClock struct {
	Line   switcher
	Board  *queue.Board
	Sales  func() *sale.Calendar
	Limits func(queue.Item) queue.Limits
	Share  *Share
	Clock  clock.Clock // the store's
	Seen   func(queue.SwitchReport)
}

// Apply does the steps that are due at this node's items. Items that only a pattern names are turned on by their first
// request. An item's error does not stop the others; all are returned.
func (c SaleClock) Apply(ctx context.Context) error {
	calendar, ms := c.Sales(), c.Clock.Now().UnixMilli()
	var errs []error
	step := func(h queue.Header) {
		o, due := c.next(calendar, h, ms)
		if !due || !c.Share.Mine(h.Item) {
			return
		}
		o.Limits = c.Limits(h.Item)
		r, err := c.Line.Switch(ctx, h.Item, o)
		if err != nil {
			errs = append(errs, fmt.Errorf("sale of %s: %w", h.Item, err))
			return
		}
		c.Seen(r)
	}
	for _, a := range calendar.Active(ms) {
		if h := c.Board.Get(queue.Item(a.Item)); a.Item.Exact() && !h.On() {
			step(h)
		}
	}
	if c.Board.On() > 0 {
		for _, h := range c.Board.All() {
			if h.On() {
				step(h)
			}
		}
	}
	return errors.Join(errs...)
}

// next gives what a sale is to do at a queue now.
func (c SaleClock) next(calendar *sale.Calendar, h queue.Header, ms int64) (o queue.SwitchOrder, due bool) {
	a := calendar.On(h.Item, ms)
	switch {
	case a == nil:
		if h.On() && h.Cause == queue.BySale {
			return c.end(calendar, h, ms)
		}
		return o, false
	case !h.On():
		return a.Start(ms), !a.Marked(h) // else it was turned off by hand
	case h.State == queue.Prequeue:
		o = a.Start(ms)
		return o, o.Action == queue.Activate || !a.Marked(h) || h.OpensMS != a.Occurrence.OpensMS
	case h.State == queue.Open:
		// The line stays and goes on under the sale, from its prequeue on: nothing else may let it go before the opening.
		return queue.SwitchOrder{Action: queue.Activate, Cause: queue.BySale, By: a.By()}, !a.Marked(h)
	case h.State == queue.Closed && h.Cause == queue.BySale:
		return queue.SwitchOrder{Action: queue.Deactivate}, !a.Marked(h) // of the occurrence before
	}
	return o, false // paused or closed by hand: it stays so
}

// end gives what is to be done at a queue of a sale that is on no more: it closes, and goes off after a session.
func (c SaleClock) end(calendar *sale.Calendar, h queue.Header, ms int64) (o queue.SwitchOrder, due bool) {
	id, opensMS := sale.ByOf(h.By)
	p := calendar.Plan(id)
	switch {
	case h.State == queue.Closed:
		// A version is the instant of the change, or later.
		return queue.SwitchOrder{Action: queue.Deactivate}, ms >= h.Version+c.Limits(h.Item).SessionMS
	case p == nil || !p.Item.Match(h.Item): // deleted: who is in the line is let in, then the queue is gone
		if h.State == queue.Prequeue {
			return queue.SwitchOrder{Action: queue.Activate, Cause: queue.BySale, By: h.By}, true
		}
		return queue.SwitchOrder{Action: queue.Drain}, h.State == queue.Open && !h.Draining
	}
	marked, ok := p.At(opensMS)
	was := ok && marked.OpensMS == opensMS && marked.EndMS != 0 && marked.EndMS <= ms
	next, more := p.At(ms)
	switch {
	case was || !more:
		return queue.SwitchOrder{Action: queue.Close, Cause: queue.BySale, By: h.By}, true
	case h.State != queue.Prequeue:
		return o, false // put off, but it has opened already
	}
	// Put off: who has gathered waits on.
	o = (&sale.Active{Plan: p, Occurrence: next}).Start(ms)
	return o, h.By != o.By || h.OpensMS != next.OpensMS
}
