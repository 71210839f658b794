package redisline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/redistraffic"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/heal"
	"github.com/sluicehq/sluice/queue/redisline"
)

// damaged is one item with people in line and inside, a node that knows it, and a key of it that is none of ours any more.
type damaged struct {
	*testing.T
	client  *redis.Client
	line    *redisline.Line
	healed  *heal.Line
	traffic *redistraffic.Traffic
	board   *queue.Board
	item    queue.Item
	limits  queue.Limits
	waiting []queue.Visitor
	tickets map[queue.Visitor]*queue.Ticket
	inside  queue.Visitor
	stay    queue.Admission
	gen     queue.Generation
}

func newDamaged(t *testing.T, client *redis.Client, prefix string, item queue.Item) *damaged {
	p := queue.DefaultPolicy()
	p.InflowPerSecond, p.TriggerActiveUsers, p.TriggerNewVisitorsPerMinute = 0, 1000, 1000
	d := &damaged{
		T: t, client: client, line: redisline.New(redisline.Options{Client: client, Prefix: prefix}), board: &queue.Board{}, item: item,
		limits: p.Limits(1), tickets: map[queue.Visitor]*queue.Ticket{},
	}
	d.traffic = redistraffic.New(d.line)
	d.healed = heal.New(heal.Options{
		Line: d.line, Board: d.board, Clock: clock.System{}, Limits: func(queue.Item) queue.Limits { return d.limits },
		Lost: func(context.Context) (bool, error) { return false, nil },
	})
	d.count(1) // the traffic is there too
	r := d.order(queue.SwitchOrder{Action: queue.Activate})
	d.gen = r.Header.Generation
	asks := newcomers(4)
	for i, a := range d.ask(asks...).Answers {
		v := asks[i].Visitor
		d.tickets[v] = &queue.Ticket{Generation: d.gen, Epoch: r.Header.Epoch, Score: a.Score}
		d.waiting = append(d.waiting, v)
	}
	d.order(queue.SwitchOrder{Action: queue.Admit, Count: 1, Key: "once"})
	d.step()
	d.inside, d.waiting = d.waiting[0], d.waiting[1:]
	d.stay = d.ask(queue.Ask{Visitor: d.inside}).Answers[0].Admission
	return d
}

func (d *damaged) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *damaged) order(o queue.SwitchOrder) queue.SwitchReport {
	d.Helper()
	o.Limits, o.Cause, o.By = d.limits, queue.ByOperator, "kim"
	r, err := d.healed.Switch(d.Context(), d.item, o)
	d.must(err)
	d.board.Put(r.Header)
	return r
}

func (d *damaged) ask(asks ...queue.Ask) queue.Answers {
	d.Helper()
	r, err := d.healed.Ask(d.Context(), d.item, asks)
	d.must(err)
	return r
}

func (d *damaged) step() queue.StepReport {
	d.Helper()
	reports, errs := d.healed.StepMany(d.Context(), []queue.Item{d.item}, []queue.StepOrder{{Limits: d.limits, Most: 300, TickMS: 250}})
	d.must(errs[0])
	return reports[0]
}

func (d *damaged) count(seq int64) detector.Verdict {
	d.Helper()
	got, err := d.traffic.Flush(d.Context(), []detector.Sample{{
		Item: d.item, Limits: d.limits, Node: "a", Seq: seq, Counts: []detector.Bucket{{N: 1}}, Newcomers: []detector.Bucket{{N: 1}},
		Active: []queue.Visitor{"visitor-00000001"},
	}})
	d.must(err)
	return got[0]
}

// spoil puts something else in the place of a key.
func (d *damaged) spoil(key, as string) {
	d.Helper()
	ctx := d.Context()
	pipe := d.client.TxPipeline()
	pipe.Del(ctx, key)
	switch as {
	case "a string":
		pipe.Set(ctx, key, "x", 0)
	case "a list":
		pipe.RPush(ctx, key, "x")
	case "a set":
		pipe.SAdd(ctx, key, "x")
	}
	_, err := pipe.Exec(ctx)
	d.must(err)
}

// keysOf are the names of an item's keys.
func keysOf(l *redisline.Line, item queue.Item) []string {
	keys := append(l.Keys(item), strings.TrimSuffix(l.Keys(item)[0], "waiting")+"once")
	return append(keys, l.ActiveKeys(item)...)
}

// Invariant isolated, and heals: whatever key of an item is not what a line writes, each way to it makes the item whole again,
// with everybody where the tickets say, and any other item is what it was.
func TestAnItemWithADamagedKeyMendsItself(t *testing.T) {
	t.Parallel()
	ways := map[string]func(d *damaged){
		"a step":  func(d *damaged) { d.step() },
		"an ask":  func(d *damaged) { d.ask(newcomers(1)...) },
		"a flush": func(d *damaged) { d.count(2) },
		"activate, which is done": func(d *damaged) {
			if r := d.order(queue.SwitchOrder{Action: queue.Activate}); r.Header.Generation != d.gen || !r.Header.On() {
				d.Errorf("header %+v", r.Header)
			}
		},
		"an admission by hand": func(d *damaged) { d.order(queue.SwitchOrder{Action: queue.Admit, Count: 0, Key: "another"}) },
	}
	s := redistest.Shared(t)
	other := newDamaged(t, s.Client(), s.Prefix(), "other")
	for n, name := range keysOf(other.line, "other") {
		for _, as := range []string{"a string", "a list", "a set"} {
			for way, do := range ways {
				t.Run(fmt.Sprintf("%s as %s, then %s", strings.TrimPrefix(name, s.Prefix()+"{other}:"), as, way), func(t *testing.T) {
					t.Parallel()
					item := queue.Item(fmt.Sprintf("%d-%s-%s", n, as[2:], strings.NewReplacer(" ", "", ",", "").Replace(way)))
					d := newDamaged(t, s.Client(), s.Prefix(), item)
					d.spoil(keysOf(d.line, item)[n], as)
					do(d)
					d.whole()
				})
			}
		}
	}
	t.Cleanup(func() {
		other.T = t
		ctx := context.Background()
		for i, v := range other.waiting {
			f, err := other.line.Find(ctx, "other", v)
			if err != nil || f.Position != int64(i+1) || f.Header.Generation != other.gen {
				t.Errorf("the other item: %+v, %v", f, err)
			}
		}
	})
}

// whole checks that all ways work, that everybody is where tickets and passes say, and that nothing else is left.
func (d *damaged) whole() {
	d.Helper()
	d.step()
	d.step()
	var asks []queue.Ask
	for i := len(d.waiting) - 1; i >= 0; i-- { // the last one first
		asks = append(asks, queue.Ask{Visitor: d.waiting[i], Ticket: d.tickets[d.waiting[i]]})
	}
	d.ask(asks...)
	touched, err := d.line.Touch(d.Context(), d.item, []queue.Beat{
		{Kind: queue.Renew, Visitor: d.inside, Generation: d.gen, IssuedMS: d.stay.IssuedMS, EndsMS: d.stay.PassEndsMS},
		{Kind: queue.Heard, Visitor: d.waiting[0]},
	})
	if err != nil || len(touched.Missing)+len(touched.Ended) != 0 {
		d.Errorf("touch: %+v, %v", touched, err)
	}
	for i, v := range d.waiting {
		f, err := d.line.Find(d.Context(), d.item, v)
		if err != nil || f.Outcome != queue.Waiting || f.Position != int64(i+1) || f.Score != d.tickets[v].Score {
			d.Errorf("who waits as number %d: %+v, %v", i+1, f, err)
		}
	}
	if f, err := d.line.Find(d.Context(), d.item, d.inside); err != nil || f.Outcome != queue.Inside {
		d.Errorf("who is inside: %+v, %v", f, err)
	}
	if v := d.count(3); v.Err != nil {
		d.Errorf("count: %v", v.Err)
	}
	look, err := d.line.Look(d.Context(), d.item)
	if err != nil || !look.Header.On() || look.Header.Generation != d.gen || !look.Counts.Balanced() {
		d.Errorf("look: %+v, %v", look, err)
	}
	if r := d.order(queue.SwitchOrder{Action: queue.Deactivate}); r.Header.On() {
		d.Errorf("off: %+v", r.Header)
	}
}

// What an operator orders is done at an item whose key is damaged, and not only once it has been mended.
func TestOperatorsMasterADamagedItem(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	for n := range 12 {
		for action, on := range map[queue.Action]bool{queue.Deactivate: false, queue.Reset: true, queue.Pause: true, queue.Close: true} {
			item := queue.Item(fmt.Sprintf("%s-%d", action, n))
			t.Run(string(item), func(t *testing.T) {
				t.Parallel()
				d := newDamaged(t, s.Client(), s.Prefix(), item)
				d.spoil(keysOf(d.line, item)[n], "a list")
				r := d.order(queue.SwitchOrder{Action: action, Key: "k"})
				if r.Header.On() != on || action == queue.Reset && r.Header.Generation <= d.gen {
					t.Errorf("header %+v", r.Header)
				}
				if d.step(); d.board.Get(item).On() != on {
					t.Errorf("after a step: %+v", d.board.Get(item))
				}
				if action != queue.Deactivate {
					return
				}
				if again := d.order(queue.SwitchOrder{Action: queue.Activate}); !again.Header.On() || again.Header.Generation <= d.gen {
					t.Errorf("on again: %+v", again.Header)
				}
			})
		}
	}
}

// An item of which no node knows anything, because its queue was never on, is turned on all the same.
func TestAnUnknownItemWithADamagedKeyTurnsOn(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	for n := range 12 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			item := queue.Item(fmt.Sprintf("new-%d", n))
			d := &damaged{T: t, client: s.Client(), line: redisline.New(redisline.Options{Client: s.Client(), Prefix: s.Prefix()}), board: &queue.Board{}, item: item}
			d.limits = queue.DefaultPolicy().Limits(1)
			d.traffic = redistraffic.New(d.line)
			d.healed = heal.New(heal.Options{
				Line: d.line, Board: d.board, Clock: clock.System{}, Limits: func(queue.Item) queue.Limits { return d.limits },
				Lost: func(context.Context) (bool, error) { return false, nil },
			})
			d.spoil(keysOf(d.line, item)[n], "a list")
			if v := d.count(1); v.Err != nil {
				d.must(d.healed.Mend(t.Context(), item)) // as the wiring does
			}
			if v := d.count(2); v.Err != nil {
				t.Errorf("count: %v", v.Err)
			}
			if r := d.order(queue.SwitchOrder{Action: queue.Activate}); !r.Header.On() || time.Since(time.Unix(int64(r.Header.Generation), 0)) > time.Minute {
				t.Errorf("header %+v", r.Header)
			}
			if d.step().Missing {
				t.Error("nothing is kept")
			}
		})
	}
}
