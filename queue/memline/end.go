package memline

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// End ends what one visitor has. Repeating it is harmless. It never fails.
func (l *Line) End(_ context.Context, id queue.Item, e queue.Ending) (queue.EndReport, error) {
	now := l.now()
	out := queue.EndReport{Header: queue.Header{Item: id}, NowMS: now.ms}
	it := l.lock(id)
	if it == nil {
		return out, nil
	}
	defer it.mu.Unlock()
	p, waits := it.waiting[e.Visitor]
	s := it.running[e.Visitor]
	out.WasWaiting = waits && e.Kind != queue.Finish
	out.WasRunning = s != nil && e.Kind != queue.Leave

	passesEnd := now.ms
	if e.Kind == queue.Leave {
		passesEnd = -1
	}
	out.Score = max(it.last, p.score)
	it.marks.set(e.Visitor, out.Score, passesEnd)
	if out.WasWaiting {
		it.leaveLine(e.Visitor, p)
		it.books.Left++
		if len(it.waiting) == 0 {
			it.emptySince = now.ms
		}
	}
	if out.WasRunning {
		it.exit(e.Visitor, s)
		if e.Kind == queue.Finish {
			it.books.Finished++
		} else {
			it.books.Revoked++
		}
	}
	out.Header = it.header
	return out, nil
}
