package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicehq/sluice/queue"
)

// switcher turns queues on and off.
type switcher interface {
	Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error)
}

// Modes keeps queues as the policies' modes fix them: on, where an item's own policy says so, and off. All fields are
// required.
type Modes struct {
	Line     switcher
	Board    *queue.Board
	Policies func() *queue.Policies
	Limits   func(queue.Item) queue.Limits
	Share    *Share
	Seen     func(queue.SwitchReport)
}

// Apply turns on the queues of this node's items whose own policy has mode on, and off those whose policy has mode
// off. Items that match a glob with mode on are turned on by their first request. An item's error does not stop the
// others; all are returned.
func (m Modes) Apply(ctx context.Context) error {
	policies := m.Policies()
	var errs []error
	set := func(item queue.Item, o queue.SwitchOrder) {
		o.Limits, o.Cause, o.By = m.Limits(item), queue.ByMode, "mode"
		r, err := m.Line.Switch(ctx, item, o)
		if err != nil {
			errs = append(errs, fmt.Errorf("mode of %s: %w", item, err))
			return
		}
		m.Seen(r)
	}
	for _, item := range policies.Exact() {
		if _, p := policies.For(item); p.Mode == queue.ModeOn && !m.Board.Get(item).On() && m.Share.Mine(item) {
			set(item, queue.SwitchOrder{Action: queue.Activate})
		}
	}
	for _, h := range m.Board.All() {
		if _, p := policies.For(h.Item); p.Mode == queue.ModeOff && h.On() && m.Share.Mine(h.Item) {
			set(h.Item, queue.SwitchOrder{Action: queue.Deactivate})
		}
	}
	return errors.Join(errs...)
}
