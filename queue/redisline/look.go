package redisline

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/queue"
)

var lookScript = NewScript(source("look"), "windows")

// Look gives the whole of one queue as it stands. One script call.
func (l *Line) Look(ctx context.Context, item queue.Item) (queue.Snapshot, error) {
	r, err := l.run(ctx, lookScript, item, l.keys(item), l.now(), "")
	if err != nil {
		return queue.Snapshot{}, err
	}
	return readSnapshot(item, r), nil
}

func readSnapshot(item queue.Item, r reply) queue.Snapshot {
	return queue.Snapshot{
		Header: ReadHeader(item, r.list(0)), Counts: r.list(1).counts(), NowMS: r.int(2),
		Tokens: r.float(3), Debt: r.int(4), LastScore: r.int(5), HoldMS: r.int(6), Requests: r.float(7), InPerSecond: r.float(9),
	}
}

// LookMany is Look for many items in one round trip. An item's error is that item's: errs[i] belongs to items[i].
func (l *Line) LookMany(ctx context.Context, items []queue.Item) ([]queue.Snapshot, []error) {
	snapshots, errs := make([]queue.Snapshot, len(items)), make([]error, len(items))
	cmds := l.lookPipe(ctx, items)
	for _, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") { // as in StepMany
			if err := lookScript.Load(ctx, l.client).Err(); err == nil {
				cmds = l.lookPipe(ctx, items)
			}
			break
		}
	}
	for i, cmd := range cmds {
		got, err := cmd.Slice()
		if err != nil {
			errs[i] = fmt.Errorf("look at %s: %w", items[i], Fault(err))
			continue
		}
		snapshots[i] = readSnapshot(items[i], reply(got))
	}
	return snapshots, errs
}

func (l *Line) lookPipe(ctx context.Context, items []queue.Item) []*redis.Cmd {
	pipe := l.client.Pipeline()
	cmds := make([]*redis.Cmd, len(items))
	for i, item := range items {
		cmds[i] = lookScript.EvalSha(ctx, pipe, l.keys(item), l.now(), "")
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	return cmds
}

// Find says where one visitor stands; Outcome NoPlace where nowhere. One script call.
func (l *Line) Find(ctx context.Context, item queue.Item, v queue.Visitor) (queue.Standing, error) {
	r, err := l.run(ctx, lookScript, item, l.keys(item), l.now(), string(v))
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

// dense is how many places at the head a table holds one by one: the shown position is exact up to 200, and one
// command brings two thousand as cheaply as a few samples.
const dense = 2000

// Positions samples the line of an item (queue.Table): one command for the head, and one for each sample behind it,
// about 1 % of the rank apart, in one pipeline.
func (l *Line) Positions(ctx context.Context, item queue.Item) (queue.Table, error) {
	snapshot, err := l.Look(ctx, item)
	if err != nil {
		return queue.Table{}, err
	}
	key := l.waitingKey(item)
	ranks := queue.SampleRanks(snapshot.Counts.Waiting, dense)
	behind := ranks[min(len(ranks), dense):]
	pipe := l.client.Pipeline()
	head := pipe.ZRangeWithScores(ctx, key, 0, dense-1)
	samples := make([]*redis.ZSliceCmd, len(behind))
	for i, rank := range behind {
		samples[i] = pipe.ZRangeWithScores(ctx, key, rank-1, rank-1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return queue.Table{}, Fault(err)
	}
	t := queue.Table{AtMS: snapshot.NowMS, Waiting: snapshot.Counts.Waiting, Header: snapshot.Header}
	for i, z := range head.Val() {
		t.Samples = append(t.Samples, queue.Sample{Rank: int64(i + 1), Score: int64(z.Score)})
	}
	t.Exact = int64(len(t.Samples))
	for i, cmd := range samples {
		if z := cmd.Val(); len(z) == 1 {
			t.Samples = append(t.Samples, queue.Sample{Rank: behind[i], Score: int64(z[0].Score)})
		}
	}
	return t, nil
}
