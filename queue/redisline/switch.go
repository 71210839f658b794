package redisline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/sluicehq/sluice/queue"
)

// remembered is queue.Known as switch.lua takes it.
type remembered struct {
	queue.Header
	LastScore int64 `json:"last_score"`
	Inside    int64 `json:"inside"`
}

// Switch does an action to a queue as a whole (queue.SwitchOrder); queue.ErrWrongState where it is not legal from the
// state it finds. Repeating one that has taken effect changes nothing. One script call.
func (l *Line) Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	limits, version := pack(o.Limits)
	inflow := ""
	if o.Inflow != nil {
		inflow = strconv.FormatFloat(*o.Inflow, 'g', -1, 64)
	}
	known := ""
	if o.Action == queue.Restore {
		b, err := json.Marshal(remembered{Header: o.Known.Header, LastScore: o.Known.LastScore, Inside: o.Known.Inside})
		if err != nil {
			return queue.SwitchReport{}, fmt.Errorf("restore %s: %w", item, err)
		}
		known = string(b)
	}
	if o.Key == "" && (o.Action == queue.Admit || o.Action == queue.Reset) { // a client of a cluster sends a script again whose answer did not come
		o.Key = "call-" + strconv.FormatInt(epoch(), 36)
	}
	keys := append(l.keys(item), l.onceKey(item))
	args := []any{l.Now(), limits, version, string(o.Action), epoch(), string(o.Cause), o.By, o.OpensMS, o.Reserved, o.Count,
		inflow, o.Key, known, o.Known.HoldMS, o.Trip.Measure, o.Trip.Trigger}
	r, err := l.run(ctx, switchScript, item, keys, append(args, 0)...)
	if o.Action == queue.Restore && errors.Is(err, queue.ErrDamaged) {
		r, err = l.run(ctx, switchScript, item, keys, append(args, 1)...)
	}
	if err != nil {
		return queue.SwitchReport{}, err
	}
	report := queue.SwitchReport{
		Header: ReadHeader(item, r.list(1)), Counts: r.list(2).counts(), Before: ReadHeader(item, r.list(3)),
		Changed: r.int(4) == 1, NowMS: r.int(5), Left: r.int(6),
	}
	if ended := r.list(7); len(ended) > 0 {
		report.Ended = &queue.Ended{Counts: ended.list(0).counts(), Story: ended.list(1).story()}
	}
	if r.text(0) == "wrong_state" {
		return report, queue.ErrWrongState.With(
			fmt.Sprintf("The queue is %s; %s is not possible from there.", report.Header.State, o.Action))
	}
	return report, nil
}
