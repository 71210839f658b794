package redisline

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicehq/sluice/queue"
)

var (
	lookScript   = NewScript(source("look"), "windows", "story")
	sampleScript = NewScript(source("sample"))
)

// Look gives the whole of one queue as it stands. One script call.
func (l *Line) Look(ctx context.Context, item queue.Item) (queue.Snapshot, error) {
	r, err := l.run(ctx, lookScript, item, l.keys(item), l.Now(), "")
	if err != nil {
		return queue.Snapshot{}, err
	}
	return readSnapshot(item, r), nil
}

func readSnapshot(item queue.Item, r reply) queue.Snapshot {
	return queue.Snapshot{
		Header: ReadHeader(item, r.list(0)), Counts: r.list(1).counts(), NowMS: r.int(2),
		Tokens: r.float(3), Debt: r.int(4), LastScore: r.int(5), HoldMS: r.int(6), Requests: r.float(7), InPerSecond: r.float(9),
		Story: r.list(10).story(),
	}
}

// LookMany is Look for many items in one round trip. An item's error is that item's: errs[i] belongs to items[i].
func (l *Line) LookMany(ctx context.Context, items []queue.Item) ([]queue.Snapshot, []error) {
	snapshots, errs := make([]queue.Snapshot, len(items)), make([]error, len(items))
	cmds := l.RunMany(ctx, lookScript, len(items), func(i int) ([]string, []any) { return l.keys(items[i]), []any{l.Now(), ""} })
	for i, cmd := range cmds {
		got, err := cmd.Slice()
		if err != nil {
			if err = Fault(err); errors.Is(err, queue.ErrDamaged) {
				snapshots[i], err = l.Look(ctx, items[i]) // mends what can be
			}
			if err != nil {
				errs[i] = fmt.Errorf("look at %s: %w", items[i], err)
			}
			continue
		}
		snapshots[i] = readSnapshot(items[i], reply(got))
	}
	return snapshots, errs
}

// Find says where one visitor stands; Outcome NoPlace where nowhere. One script call.
func (l *Line) Find(ctx context.Context, item queue.Item, v queue.Visitor) (queue.Standing, error) {
	r, err := l.run(ctx, lookScript, item, l.keys(item), l.Now(), string(v))
	if err != nil {
		return queue.Standing{}, err
	}
	s := queue.Standing{Header: ReadHeader(item, r.list(0)), NowMS: r.int(2), Outcome: queue.NoPlace}
	if at := r.list(8); len(at) > 0 {
		s.Outcome = outcomes[at.text(0)]
		if s.Outcome == queue.Waiting {
			s.Score, s.Position, s.HeardMS = at.int(1), at.int(2), at.int(3)
		} else {
			s.Admission = readAdmission(at[1:])
		}
	}
	return s, nil
}

// refBatch is how many members one command of FindRef looks at: below a millisecond of the store's time.
const refBatch = 1000

// FindRef finds the visitor in line or inside whose reference is ref. It walks through both sets in small commands: a
// thousand for a million people, about a second, while everybody else is served.
func (l *Line) FindRef(ctx context.Context, item queue.Item, ref string) (v queue.Visitor, found bool, err error) {
	if !queue.ValidRef(ref) {
		return "", false, nil // and no pattern of ours
	}
	for _, key := range []string{l.waitingKey(item), l.runningKey(item)} {
		for cursor := uint64(0); ; {
			pairs, next, err := l.client.ZScan(ctx, key, cursor, ref+"*", refBatch).Result()
			if err != nil {
				return "", false, fmt.Errorf("item %s: %w", item, Fault(err))
			}
			if len(pairs) > 0 {
				return queue.Visitor(pairs[0]), true, nil
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return "", false, nil
}

// Head gives the scores of the first most in line: two commands in one pipeline.
func (l *Line) Head(ctx context.Context, item queue.Item, most int) (queue.Head, error) {
	key := l.waitingKey(item)
	if l.away(key) {
		return queue.Head{}, Fault(errAway)
	}
	pipe := l.client.Pipeline()
	waiting := pipe.ZCard(ctx, key)
	first := pipe.ZRangeWithScores(ctx, key, 0, int64(most)-1)
	if _, err := pipe.Exec(ctx); err != nil {
		return queue.Head{}, Fault(err)
	}
	out := queue.Head{Waiting: waiting.Val(), Scores: make([]int64, len(first.Val()))}
	for i, z := range first.Val() {
		out.Scores[i] = int64(z.Score)
	}
	return out, nil
}

// dense is how many places at the head a table holds one by one: the shown position is exact up to 200, and one
// command brings two thousand as cheaply as a few samples.
const dense = 2000

// mostSampled is how many ranks one script call looks up, which keeps it far below the two milliseconds that the store
// may be held up for.
const mostSampled = 250

// Positions samples the line of an item (queue.Table): one command for the head, and for the samples behind it, about
// 1 % of the rank apart, one script call for each 250 of them: three where 1,000,000 wait.
func (l *Line) Positions(ctx context.Context, item queue.Item) (queue.Table, error) {
	var t queue.Table
	var scores []int64
	for rank := queue.FirstSampled(dense); rank > 0; {
		r, err := l.run(ctx, sampleScript, item, l.keys(item), l.Now(), rank, mostSampled)
		if err != nil {
			return queue.Table{}, err
		}
		t.Header, t.AtMS, t.Waiting = ReadHeader(item, r.list(0)), r.int(1), r.int(2)
		some := r.list(3)
		for i := range some {
			scores = append(scores, some.int(i))
		}
		rank = r.int(4)
	}
	head, err := l.client.ZRangeWithScores(ctx, l.waitingKey(item), 0, dense-1).Result()
	if err != nil {
		return queue.Table{}, fmt.Errorf("item %s: %w", item, Fault(err))
	}
	ranks := queue.SampleRanks(t.Waiting, dense)
	behind := ranks[min(len(ranks), dense):]
	t.Samples = make([]queue.Sample, 0, len(head)+len(behind))
	for i, z := range head {
		t.Samples = append(t.Samples, queue.Sample{Rank: int64(i + 1), Score: int64(z.Score)})
	}
	t.Exact = int64(len(head))
	for i, rank := range behind[:min(len(behind), len(scores))] {
		if n := len(t.Samples); n > 0 && scores[i] <= t.Samples[n-1].Score {
			continue // the head has moved past it since
		}
		t.Samples = append(t.Samples, queue.Sample{Rank: rank, Score: scores[i]})
	}
	return t, nil
}
