package redisline_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/redistraffic"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// BenchmarkScripts calls each script at a line of 1,000 and of 1,000,000. Beside the time of a call as the client sees
// it stands store-µs/op, the time that the store itself spent on the median call.
func BenchmarkScripts(b *testing.B) {
	sizes := []int{1_000, 1_000_000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		s := redistest.New(b)
		r := &scriptBench{client: s.Client(), prefix: s.Prefix(), item: "sku-1"}
		r.line = redisline.New(redisline.Options{Client: r.client, Prefix: r.prefix})
		r.fill(b, size)
		for _, one := range []struct {
			name string
			run  func(b *testing.B)
		}{
			{"join, 1 newcomer", r.join(1)},
			{"join, 32 newcomers", r.join(32)},
			{"join, 200 newcomers", r.join(200)},
			{"join, 1 who waits asks again", r.again(1)},
			{"join, 32 who wait ask again", r.again(32)},
			{"touch, 1 heard", r.touch(1)},
			{"touch, 200 heard", r.touch(200)},
			{"touch, 200 renewals", r.renew(200)},
			{"step, nothing due", r.idle},
			{"step, 250 go in", r.step(250)},
			{"end, 1 leaves", r.leave},
			{"recall, 200 ends", r.recall(200)},
			{"mend, nothing to mend", r.mend},
			{"switch, inflow", r.inflow},
			{"look, the queue", r.look},
			{"look, 1 visitor", r.find},
			{"sample", r.sample},
			{"count, 1 flush", r.count},
			{"announce", r.announce},
			{"nodes, a sign of life", r.beat},
		} {
			b.Run(fmt.Sprintf("%d waiting/%s", size, one.name), one.run)
		}
	}
}

// scriptBench is a line to call scripts at.
type scriptBench struct {
	client *redis.Client
	line   *redisline.Line
	prefix string
	item   queue.Item
	header queue.Header
	some   []queue.Visitor // who wait, from all over the line
}

func (r *scriptBench) limits(inflow float64) queue.Limits {
	p := queue.DefaultPolicy()
	p.InflowPerSecond, p.AbandonSeconds, p.ClaimSeconds, p.SessionSeconds = inflow, 86400, 3600, 86400
	return p.Limits(time.Now().UnixMilli())
}

func (r *scriptBench) fill(b *testing.B, size int) {
	b.Helper()
	ctx := context.Background()
	report, err := r.line.Switch(ctx, r.item, queue.SwitchOrder{Action: queue.Activate, Limits: r.limits(0), Cause: queue.ByOperator})
	if err != nil {
		b.Fatal(err)
	}
	r.header = report.Header
	for n := 0; n < size; n += 200 {
		asks := newcomers(200)
		if _, err := r.line.Ask(ctx, r.item, asks); err != nil {
			b.Fatal(err)
		}
		if n%(size/200) < 200 {
			r.some = append(r.some, asks[0].Visitor)
		}
	}
	for len(r.some) < 200 {
		r.some = append(r.some, r.some...)
	}
	r.some = r.some[:200]
}

func newcomers(n int) []queue.Ask {
	asks := make([]queue.Ask, n)
	for i := range asks {
		asks[i] = queue.Ask{Visitor: queue.NewVisitor(), Create: true}
	}
	return asks
}

var (
	scriptCalls  = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)
	scriptMedian = regexp.MustCompile(`latency_percentiles_usec_evalsha:p50=([\d.]+)`)
)

// info reads a number of the store's INFO; 0 where it is not there.
func (r *scriptBench) info(b *testing.B, section string, number *regexp.Regexp, group int) float64 {
	b.Helper()
	text, err := r.client.Info(context.Background(), section).Result()
	if err != nil {
		b.Fatal(err)
	}
	m := number.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	v, _ := strconv.ParseFloat(m[group], 64)
	return v
}

// spent is the store's time in scripts so far, µs.
func (r *scriptBench) spent(b *testing.B) float64 { return r.info(b, "commandstats", scriptCalls, 2) }

// measure runs call again and again; prepare and undo are not timed, and may be nil. What is reported of the store is
// the median call: others want its processor too.
func (r *scriptBench) measure(b *testing.B, prepare, call, undo func() error) {
	b.Helper()
	b.ReportAllocs()
	do := func(f func() error) {
		if f == nil {
			return
		}
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	do(call) // loads the script
	do(undo)
	var took []float64
	whole := prepare == nil && undo == nil
	if err := r.client.ConfigResetStat(context.Background()).Err(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var before float64
		if !whole {
			b.StopTimer()
			do(prepare)
			before = r.spent(b)
			b.StartTimer()
		}
		do(call)
		if !whole {
			b.StopTimer()
			took = append(took, r.spent(b)-before)
			do(undo)
			b.StartTimer()
		}
	}
	if whole {
		took = append(took, r.info(b, "latencystats", scriptMedian, 1))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "store-µs/op")
}

// join puts newcomers into the line, and lets as many in, so that the line keeps its length.
func (r *scriptBench) join(n int) func(b *testing.B) {
	return func(b *testing.B) {
		var asks []queue.Ask
		next := func() error { asks = newcomers(n); return nil }
		_ = next()
		r.measure(b, next, func() error {
			_, err := r.line.Ask(b.Context(), r.item, asks)
			return err
		}, func() error { return r.letIn(b.Context(), n) })
	}
}

// letIn takes n from the head of the line.
func (r *scriptBench) letIn(ctx context.Context, n int) error {
	if err := r.admit(ctx, n); err != nil {
		return err
	}
	_, err := r.line.Step(ctx, r.item, r.order(n))
	return err
}

// admit orders n to be let in.
func (r *scriptBench) admit(ctx context.Context, n int) error {
	_, err := r.line.Switch(ctx, r.item, queue.SwitchOrder{Action: queue.Admit, Count: int64(n), Limits: r.limits(0)})
	return err
}

func (r *scriptBench) again(n int) func(b *testing.B) {
	return func(b *testing.B) {
		asks := make([]queue.Ask, n)
		for i := range asks {
			asks[i].Visitor = r.some[i]
		}
		r.measure(b, nil, func() error {
			_, err := r.line.Ask(b.Context(), r.item, asks)
			return err
		}, nil)
	}
}

func (r *scriptBench) touch(n int) func(b *testing.B) {
	return func(b *testing.B) {
		beats := make([]queue.Beat, n)
		for i := range beats {
			beats[i] = queue.Beat{Kind: queue.Heard, Visitor: r.some[i]}
		}
		r.measure(b, nil, func() error {
			_, err := r.line.Touch(b.Context(), r.item, beats)
			return err
		}, nil)
	}
}

// renew tells of the passes of people inside.
func (r *scriptBench) renew(n int) func(b *testing.B) {
	return func(b *testing.B) {
		ms := time.Now().UnixMilli()
		beats := make([]queue.Beat, n)
		for i := range beats {
			beats[i] = queue.Beat{Kind: queue.Renew, Visitor: queue.NewVisitor(), Generation: r.header.Generation, Requests: 1,
				IssuedMS: ms, EndsMS: ms + 86_400_000}
		}
		r.measure(b, nil, func() error {
			_, err := r.line.Touch(b.Context(), r.item, beats)
			return err
		}, nil)
	}
}

func (r *scriptBench) order(most int) queue.StepOrder {
	return queue.StepOrder{Limits: r.limits(0), Most: most, TickMS: 250}
}

func (r *scriptBench) idle(b *testing.B) {
	order := r.order(300)
	r.measure(b, nil, func() error {
		_, err := r.line.Step(b.Context(), r.item, order)
		return err
	}, nil)
}

// step lets people in whom an operator ordered in, and as many newcomers take their places at the end.
func (r *scriptBench) step(n int) func(b *testing.B) {
	return func(b *testing.B) {
		order := r.order(n)
		r.measure(b, func() error {
			for left := n; left > 0; left -= 200 {
				if _, err := r.line.Ask(b.Context(), r.item, newcomers(min(left, 200))); err != nil {
					return err
				}
			}
			return r.admit(b.Context(), n)
		}, func() error {
			_, err := r.line.Step(b.Context(), r.item, order)
			return err
		}, nil)
	}
}

func (r *scriptBench) leave(b *testing.B) {
	var who queue.Visitor
	next := func() error {
		asks := newcomers(1)
		who = asks[0].Visitor
		_, err := r.line.Ask(b.Context(), r.item, asks)
		return err
	}
	if err := next(); err != nil {
		b.Fatal(err)
	}
	r.measure(b, next, func() error {
		_, err := r.line.End(b.Context(), r.item, queue.Ending{Kind: queue.Leave, Visitor: who})
		return err
	}, nil)
}

// recall says again of people who are gone that their places have ended, as nodes do after a loss.
func (r *scriptBench) recall(n int) func(b *testing.B) {
	return func(b *testing.B) {
		order := queue.RecallOrder{Generation: r.header.Generation}
		for range n {
			order.Marks = append(order.Marks, queue.Mark{Visitor: queue.NewVisitor(), Score: 1, UntilMS: -1})
		}
		r.measure(b, nil, func() error { _, err := r.line.Recall(b.Context(), r.item, order); return err }, nil)
	}
}

func (r *scriptBench) mend(b *testing.B) {
	r.measure(b, nil, func() error { return r.line.Mend(b.Context(), r.item) }, nil)
}

func (r *scriptBench) inflow(b *testing.B) {
	inflow := 0.0
	r.measure(b, nil, func() error {
		_, err := r.line.Switch(b.Context(), r.item, queue.SwitchOrder{Action: queue.SetInflow, Inflow: &inflow, Limits: r.limits(0)})
		return err
	}, nil)
}

func (r *scriptBench) look(b *testing.B) {
	r.measure(b, nil, func() error { _, err := r.line.Look(b.Context(), r.item); return err }, nil)
}

func (r *scriptBench) sample(b *testing.B) {
	r.measure(b, nil, func() error { _, err := r.line.Positions(b.Context(), r.item); return err }, nil)
}

func (r *scriptBench) find(b *testing.B) {
	r.measure(b, nil, func() error { _, err := r.line.Find(b.Context(), r.item, r.some[100]); return err }, nil)
}

func (r *scriptBench) count(b *testing.B) {
	traffic := redistraffic.New(r.line)
	seq := int64(0)
	r.measure(b, nil, func() error {
		seq++
		verdicts, err := traffic.Flush(b.Context(), []detector.Sample{{
			Item: r.item, Node: "node-1", Seq: seq, Limits: r.limits(0),
			Counts: []detector.Bucket{{AgeMS: 100, N: 40}, {N: 30}},
		}})
		if err == nil && len(verdicts) == 1 {
			err = verdicts[0].Err
		}
		return err
	}, nil)
}

func (r *scriptBench) announce(b *testing.B) {
	changes := redisline.NewChanges(r.client, r.prefix)
	h := r.header
	r.measure(b, nil, func() error { h.Version++; return changes.Announce(b.Context(), h) }, nil)
}

func (r *scriptBench) beat(b *testing.B) {
	nodes := redisline.NewNodes(r.client, r.prefix, "node-1", "key", time.Second)
	r.measure(b, nil, func() error { _, err := nodes.Beat(b.Context()); return err }, nil)
}
