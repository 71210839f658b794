package admin

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// queueAsk is what tests call to fill a line.
type queueAsk interface {
	Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error)
	Step(ctx context.Context, item queue.Item, o queue.StepOrder) (queue.StepReport, error)
}

// brokenLine is one whose store cannot be reached.
type brokenLine struct{ fullLine }

func (brokenLine) Switch(context.Context, queue.Item, queue.SwitchOrder) (queue.SwitchReport, error) {
	return queue.SwitchReport{}, queue.ErrStoreDown
}

func (brokenLine) Look(context.Context, queue.Item) (queue.Snapshot, error) {
	return queue.Snapshot{}, queue.ErrStoreDown
}

func (brokenLine) Find(context.Context, queue.Item, queue.Visitor) (queue.Standing, error) {
	return queue.Standing{}, queue.ErrStoreDown
}

func (brokenLine) End(context.Context, queue.Item, queue.Ending) (queue.EndReport, error) {
	return queue.EndReport{}, queue.ErrStoreDown
}
