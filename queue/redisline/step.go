package redisline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sluicehq/sluice/queue"
)

// Step lets time pass at one item (queue.StepOrder). It may be called by any number of movers at once. One script call; an
// admission waits for replicas where Options ask for them.
func (l *Line) Step(ctx context.Context, item queue.Item, o queue.StepOrder) (queue.StepReport, error) {
	r, err := l.run(ctx, stepScript, item, l.keys(item), l.stepArgs(o)...)
	if err != nil {
		return queue.StepReport{}, err
	}
	report := readStep(item, r)
	if len(report.Admitted) > 0 {
		l.replicated(ctx, item)
	}
	return report, nil
}

func (l *Line) stepArgs(o queue.StepOrder) []any {
	limits, version := pack(o.Limits)
	seen := o.Seen
	header := []byte("{}")
	if seen.Header.Version > 0 {
		header, _ = json.Marshal(seen.Header) // strings, numbers and booleans: cannot fail
	}
	return []any{
		l.Now(), limits, version, o.Most, o.TickMS, epoch(),
		int64(seen.Header.Generation), seen.Header.Version, int64(seen.Header.PassesFrom), seen.LastScore, seen.Inside, seen.HoldMS, header,
	}
}

func readStep(item queue.Item, r reply) queue.StepReport {
	if len(r) == 0 {
		return queue.StepReport{Missing: true, Header: queue.Header{Item: item}}
	}
	report := queue.StepReport{
		Header: ReadHeader(item, r.list(0)), Counts: r.list(1).counts(), NowMS: r.int(2),
		NoShow: r.int(4), Finished: r.int(5), Abandoned: r.int(6), Released: r.text(7) != "", Reason: r.text(7),
		Restored: r.int(8) == 1, More: r.int(9) == 1, DueMS: r.int(10), LastScore: r.int(11), HeadScore: r.int(12),
		Requests: r.float(13),
	}
	if report.Released {
		report.Story = r.list(14).story()
	}
	in := r.list(3)
	for i := 0; i+1 < len(in); i += 2 {
		report.Admitted = append(report.Admitted, queue.LetIn{Visitor: queue.Visitor(in.text(i)), Score: in.int(i + 1)})
	}
	return report
}

// StepMany steps many items in one round trip. An item's error is that item's: errs[i] belongs to items[i].
func (l *Line) StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) ([]queue.StepReport, []error) {
	reports, errs := make([]queue.StepReport, len(items)), make([]error, len(items))
	cmds := l.RunMany(ctx, stepScript, len(items), func(i int) ([]string, []any) { return l.keys(items[i]), l.stepArgs(orders[i]) })
	var moved []queue.Item
	for i, cmd := range cmds {
		got, err := cmd.Slice()
		if err != nil {
			if err = Fault(err); errors.Is(err, queue.ErrDamaged) {
				reports[i], err = l.Step(ctx, items[i], orders[i]) // mends what can be
			}
			if err != nil {
				errs[i] = fmt.Errorf("step %s: %w", items[i], err)
			}
			continue
		}
		reports[i] = readStep(items[i], reply(got))
		if l.minReplicas > 0 && len(reports[i].Admitted) > 0 {
			moved = append(moved, items[i])
		}
	}
	l.replicated(ctx, moved...)
	return reports, errs
}
