package redisline

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// Touch tells the line of signs of life (queue.Beat), at most 200 at once, and learns whose place or session is no
// more. Repeating it is harmless. One script call.
func (l *Line) Touch(ctx context.Context, item queue.Item, beats []queue.Beat) (queue.TouchReport, error) {
	args := make([]any, 0, 1+6*len(beats))
	args = append(args, l.Now())
	for _, b := range beats {
		args = append(args, string(b.Kind), string(b.Visitor), int64(b.Generation), b.IssuedMS, b.EndsMS, b.Requests)
	}
	r, err := l.run(ctx, touchScript, item, l.keys(item), args...)
	if err != nil {
		return queue.TouchReport{}, err
	}
	report := queue.TouchReport{Header: ReadHeader(item, r.list(0)), NowMS: r.int(1), Missing: r.ints(2)}
	for i := range report.Missing {
		report.Missing[i]-- // Lua counts from 1
	}
	ended := r.list(3)
	for i := 0; i+1 < len(ended); i += 2 {
		report.Ended = append(report.Ended, queue.EndedPass{Beat: int(ended.int(i)) - 1, UntilMS: ended.int(i + 1)})
	}
	return report, nil
}

// End ends what one visitor has at an item (queue.Ending). Repeating it is harmless. One script call.
func (l *Line) End(ctx context.Context, item queue.Item, e queue.Ending) (queue.EndReport, error) {
	r, err := l.run(ctx, endScript, item, l.keys(item), l.Now(), string(e.Kind), string(e.Visitor))
	if err != nil {
		return queue.EndReport{}, err
	}
	return queue.EndReport{
		Header: ReadHeader(item, r.list(0)), NowMS: r.int(1), WasWaiting: r.int(2) == 1, WasRunning: r.int(3) == 1, Score: r.int(4),
	}, nil
}

// Recall gives back ends that the store may have lost (queue.RecallOrder), at most 200 marks at once. Repeating it is
// harmless. One script call.
func (l *Line) Recall(ctx context.Context, item queue.Item, o queue.RecallOrder) (queue.RecallReport, error) {
	args := make([]any, 0, 2+3*len(o.Marks))
	args = append(args, l.Now(), int64(o.Generation))
	for _, m := range o.Marks {
		args = append(args, string(m.Visitor), m.Score, m.UntilMS)
	}
	r, err := l.run(ctx, recallScript, item, l.keys(item), args...)
	if err != nil {
		return queue.RecallReport{}, err
	}
	return queue.RecallReport{Header: ReadHeader(item, r.list(0)), NowMS: r.int(1), Left: r.int(2), Finished: r.int(3)}, nil
}
