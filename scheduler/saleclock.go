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
		o, due := calendar.Due(h, ms, func() int64 { return c.Limits(h.Item).SessionMS })
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
