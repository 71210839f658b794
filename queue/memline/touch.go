package memline

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// Touch takes in signs of life. Repeating one is harmless. It never fails.
func (l *Line) Touch(_ context.Context, id queue.Item, beats []queue.Beat) (queue.TouchReport, error) {
	now := l.now()
	out := queue.TouchReport{Header: queue.Header{Item: id}, NowMS: now.ms}
	it := l.lock(id)
	if it == nil {
		return out, nil
	}
	defer it.mu.Unlock()
	for i := range beats {
		if !it.header.On() {
			break
		}
		switch b := &beats[i]; b.Kind {
		case queue.Heard:
			if p, ok := it.waiting[b.Visitor]; ok {
				p.heard = it.live(now) / 1000
				it.waiting[b.Visitor] = p
			} else {
				out.Missing = append(out.Missing, i)
			}
		case queue.Renew:
			if ended := it.renew(b, now); ended > 0 {
				out.Ended = append(out.Ended, queue.EndedPass{Beat: i, UntilMS: ended})
			}
		}
	}
	out.Header = it.header
	return out, nil
}

// renew prolongs the stay that a pass belongs to, or begins one where the pass is from before the queue or a loss. Where
// the pass was ended, it answers the instant up to which the visitor's passes have; else 0.
func (it *item) renew(b *queue.Beat, now instant) (endedMS int64) {
	ended := it.marks.of(b.Visitor).ended
	if ended >= b.IssuedMS && it.running[b.Visitor] == nil {
		// A node that had not heard of the end may have renewed this pass: that one ends too.
		ended = max(ended, now.ms)
		it.marks.set(b.Visitor, -1, ended)
	}
	if ended >= b.IssuedMS || b.Generation < it.header.PassesFrom {
		return max(b.IssuedMS, ended)
	}
	deadline := b.EndsMS + queue.PassLeewayMS - it.lostAt(now)
	if s := it.running[b.Visitor]; s != nil {
		a := &s.admission
		a.Requests += b.Requests
		switch {
		case a.ClaimedMS == 0:
			it.marks.set(b.Visitor, it.last, -1)
			a.ClaimedMS, a.IssuedMS, a.PassEndsMS = b.IssuedMS, b.IssuedMS, b.EndsMS
			it.extend(b.Visitor, s, deadline)
		default:
			a.IssuedMS = max(a.IssuedMS, b.IssuedMS)
			if b.EndsMS > a.PassEndsMS {
				a.PassEndsMS = b.EndsMS
				it.extend(b.Visitor, s, max(s.deadline, deadline))
			}
		}
		return 0
	}
	if now.ms >= b.EndsMS+queue.PassLeewayMS {
		return 0
	}
	if p, ok := it.waiting[b.Visitor]; ok {
		it.leaveLine(b.Visitor, p)
		it.marks.set(b.Visitor, p.score, -1)
		it.books.Left++
	}
	it.enter(b.Visitor, queue.Admission{
		Kind: queue.Carried, AdmittedMS: now.ms, ClaimedMS: b.IssuedMS, IssuedMS: b.IssuedMS, PassEndsMS: b.EndsMS, Requests: b.Requests,
	}, deadline)
	it.books.Carried++
	it.showUp()
	return 0
}
