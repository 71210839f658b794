package redisline

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// Step lets time pass at one item (queue.StepOrder). It may be called by any number of movers at once. One script call.
func (l *Line) Step(ctx context.Context, item queue.Item, o queue.StepOrder) (queue.StepReport, error) {
	limits, version := pack(o.Limits)
	seen := o.Seen
	r, err := l.run(ctx, stepScript, item, l.keys(item),
		l.now(), limits, version, o.Most, o.TickMS, epoch(),
		int64(seen.Header.Generation), seen.Header.Version, int64(seen.Header.PassesFrom), seen.LastScore, seen.Inside, seen.HoldMS)
	if err != nil {
		return queue.StepReport{}, err
	}
	if len(r) == 0 {
		return queue.StepReport{Missing: true, Header: queue.Header{Item: item}}, nil
	}
	report := queue.StepReport{
		Header: ReadHeader(item, r.list(0)), Counts: r.list(1).counts(), NowMS: r.int(2),
		NoShow: r.int(4), Finished: r.int(5), Abandoned: r.int(6), Released: r.text(7) != "", Reason: r.text(7),
		Restored: r.int(8) == 1, More: r.int(9) == 1, DueMS: r.int(10), LastScore: r.int(11), HeadScore: r.int(12),
		Requests: r.float(13), LagMS: r.int(14),
	}
	in := r.list(3)
	for i := 0; i+1 < len(in); i += 2 {
		report.Admitted = append(report.Admitted, queue.LetIn{Visitor: queue.Visitor(in.text(i)), Score: in.int(i + 1)})
	}
	return report, nil
}
