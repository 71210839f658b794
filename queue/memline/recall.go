package memline

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// Recall takes in ends that a node remembers. Repeating it is harmless. It never fails.
func (l *Line) Recall(_ context.Context, id queue.Item, o queue.RecallOrder) (queue.RecallReport, error) {
	now := l.now()
	out := queue.RecallReport{Header: queue.Header{Item: id}, NowMS: now.ms}
	it := l.lock(id)
	if it == nil {
		return out, nil
	}
	defer it.mu.Unlock()
	if out.Header = it.header; !it.header.On() {
		return out, nil
	}
	for _, m := range o.Marks {
		if o.Generation != it.header.Generation {
			m.Score = -1
		}
		it.marks.set(m.Visitor, m.Score, m.UntilMS)
		// A lot tells nothing of when: it may have been drawn again since.
		if p, ok := it.waiting[m.Visitor]; ok && p.score >= queue.MaxLot && p.score <= m.Score {
			it.leaveLine(m.Visitor, p)
			out.Left++
		}
		if s := it.running[m.Visitor]; s != nil && s.admission.ClaimedMS > 0 && s.admission.IssuedMS <= m.UntilMS {
			it.exit(m.Visitor, s)
			out.Finished++
		}
	}
	it.books.Left += out.Left
	it.books.Finished += out.Finished
	if len(it.waiting) == 0 && it.emptySince == 0 {
		it.emptySince = now.ms
	}
	return out, nil
}
