package memline

import (
	"context"
	"math"
	"slices"

	"github.com/sluicehq/sluice/queue"
)

// dense is how many positions at the head a table knows exactly, at least; and so do ten seconds' worth of inflow.
const dense, mostDense = 200, 2000

// Look gives the whole of one queue. It never fails.
func (l *Line) Look(_ context.Context, id queue.Item) (queue.Snapshot, error) {
	now := l.now()
	it := l.lock(id)
	if it == nil {
		out := queue.Snapshot{Header: queue.Header{Item: id}, NowMS: now.ms, Requests: -1, InPerSecond: -1}
		if l.traffic != nil {
			out.Requests, _, _ = l.traffic(id, now.ms)
		}
		return out, nil
	}
	defer it.mu.Unlock()
	out := queue.Snapshot{
		Header: it.header, Counts: it.counts(now), NowMS: now.ms, Tokens: it.tokens, Debt: it.debt, LastScore: it.last,
		InPerSecond: it.inPerSecond(now), Story: it.story,
	}
	if it.header.On() {
		out.Story.Waits = nil
	} else {
		out.Story.Waits = slices.Clone(it.story.Waits)
	}
	if it.header.State == queue.Open && now.us > it.settledUS {
		out.Tokens = it.tokensAt(now)
	}
	if now.ms < it.holdMS {
		out.HoldMS = it.holdMS
	}
	out.Requests, _ = l.low(it, now)
	return out, nil
}

// Find says where one visitor stands, and changes nothing. It never fails.
func (l *Line) Find(_ context.Context, id queue.Item, v queue.Visitor) (queue.Standing, error) {
	now := l.now()
	out := queue.Standing{Header: queue.Header{Item: id}, NowMS: now.ms, Outcome: queue.NoPlace}
	it := l.lock(id)
	if it == nil {
		return out, nil
	}
	defer it.mu.Unlock()
	out.Header = it.header
	if s := it.running[v]; s != nil {
		if s.deadline > it.live(now) {
			out.Outcome, out.Admission = queue.Inside, s.admission
		}
	} else if p, ok := it.waiting[v]; ok {
		out.Outcome, out.Score, out.Position = queue.Waiting, p.score, it.position(v, p)
		out.HeardMS = p.heard*1000 + it.lostAt(now)
	}
	return out, nil
}

// FindRef finds the visitor in line or inside whose reference is ref, by looking at all: 10 ms for a million. It never
// fails.
func (l *Line) FindRef(_ context.Context, id queue.Item, ref string) (v queue.Visitor, found bool, err error) {
	if !queue.ValidRef(ref) {
		return "", false, nil
	}
	it := l.lock(id)
	if it == nil {
		return "", false, nil
	}
	defer it.mu.Unlock()
	for v := range it.waiting {
		if v.Ref() == ref {
			return v, true, nil
		}
	}
	for v := range it.running {
		if v.Ref() == ref {
			return v, true, nil
		}
	}
	return "", false, nil
}

// Head gives the scores of the first most in line. It never fails.
func (l *Line) Head(_ context.Context, id queue.Item, most int) (queue.Head, error) {
	it := l.lock(id)
	if it == nil {
		return queue.Head{}, nil
	}
	defer it.mu.Unlock()
	out := queue.Head{Waiting: int64(it.order.Len()), Scores: make([]int64, min(most, it.order.Len()))}
	for i := range out.Scores {
		out.Scores[i] = it.order.At(i).score
	}
	return out, nil
}

// Positions samples the line. It never fails.
func (l *Line) Positions(_ context.Context, id queue.Item) (queue.Table, error) {
	now := l.now()
	it := l.lock(id)
	if it == nil {
		return queue.Table{AtMS: now.ms, Header: queue.Header{Item: id}}, nil
	}
	defer it.mu.Unlock()
	n := int64(it.order.Len())
	out := queue.Table{AtMS: now.ms, Waiting: n, Header: it.header}
	near := max(dense, int64(math.Ceil(min(10*it.rate(), mostDense))))
	out.Exact = min(n, near)
	for _, rank := range queue.SampleRanks(n, near) {
		out.Samples = append(out.Samples, queue.Sample{Rank: rank, Score: it.order.At(int(rank - 1)).score})
	}
	return out, nil
}
