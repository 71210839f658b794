package app

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/batch"
	"github.com/sluicehq/sluice/queue/redisline"
)

// passesEnded has the other nodes told that a visitor's passes issued up to an instant have ended.
func (a *App) passesEnded(item queue.Item, v queue.Visitor, untilMS int64) {
	if a.store.changes != nil {
		a.fleet.tellEnded(redisline.Ended{Item: item, Visitor: v, AtMS: untilMS})
	}
}

// endedByVisitor is told of each end that the gate ordered, which remembers it.
func (a *App) endedByVisitor(item queue.Item, e queue.Ending, r queue.EndReport) {
	if e.Kind != queue.Leave {
		a.passesEnded(item, e.Visitor, r.NowMS)
	}
}

// endedByHand is told of each end that an operator ordered.
func (a *App) endedByHand(item queue.Item, e queue.Ending, r queue.EndReport) {
	score := r.Score
	if r.Header.State == queue.Prequeue && a.limits(item).Random {
		score = 0 // who comes back draws the same lot
	}
	a.beats.EndPlace(item, e.Visitor, score, r.NowMS)
	a.beats.EndPass(item, e.Visitor, r.NowMS)
	a.passesEnded(item, e.Visitor, r.NowMS)
}

// mostMarks is the most marks of one call of the line.
const mostMarks = 200

// recall gives lines that may have lost them the marks of ended places and passes that this node remembers. It gives
// back the items of which the store could not be told.
func (a *App) recall(ctx context.Context, items map[queue.Item]struct{}) (failed []queue.Item) {
	now := a.clock.Now().UnixMilli()
	since := make(map[queue.Item]batch.Since, len(items))
	for item := range items {
		since[item] = batch.Since{
			PlacesMS: a.board.Get(item).ActivatedMS, PassesMS: now - a.limits(item).SessionMS - queue.PassLeewayMS,
		}
	}
	for item, marks := range a.beats.Marks(since) {
		o := queue.RecallOrder{Generation: a.board.Get(item).Generation}
		for len(marks) > 0 {
			n := min(len(marks), mostMarks)
			o.Marks, marks = marks[:n], marks[n:]
			if _, err := a.store.line.Recall(ctx, item, o); err != nil {
				if errors.Is(err, queue.ErrStoreDown) {
					failed = append(failed, item)
				} else {
					a.log.ErrorContext(ctx, "ended places not told to the store", "item", item, "err", err)
				}
				break
			}
		}
	}
	return failed
}
