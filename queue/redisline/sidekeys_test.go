package redisline_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// calls counts what goes to the store: commands of this process, not those that scripts make.
type calls struct{ n atomic.Int64 }

func (c *calls) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// B041: every change is one call of a script, so a member of a set and what is kept beside it come and go together; and where
// what is beside it is lost all the same, the member ends in time.
func TestMembersThatLackWhatIsKeptBesideThemEndAllTheSame(t *testing.T) {
	t.Parallel()
	const people = 100
	ctx := t.Context()
	s := redistest.Shared(t)
	client, seen, hand := s.Client(), &calls{}, clock.At(time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC))
	line := redisline.New(redisline.Options{Client: client, Prefix: s.Prefix(), Clock: hand})
	p := queue.DefaultPolicy()
	p.SessionSeconds, p.ClaimSeconds, p.AbandonSeconds, p.ReturnSeconds, p.InflowPerSecond = 30, 10, 30, 0, 0
	limits := p.Limits(1)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	step := func() queue.StepReport {
		t.Helper()
		r, err := line.Step(ctx, "sku-1", queue.StepOrder{Limits: limits, Most: 300, TickMS: 250})
		must(err)
		if !r.Counts.Balanced() {
			t.Errorf("the books do not balance: %+v", r.Counts)
		}
		return r
	}
	_, err := line.Switch(ctx, "sku-1", queue.SwitchOrder{Action: queue.Activate, Limits: limits, Cause: queue.ByOperator})
	must(err)
	asks := newcomers(2 * people)
	_, err = line.Ask(ctx, "sku-1", asks[:people])
	must(err)
	_, err = line.Switch(ctx, "sku-1", queue.SwitchOrder{Action: queue.Admit, Limits: limits, Count: people, Cause: queue.ByOperator})
	must(err)
	for r := step(); r.More || r.Counts.Waiting > 0; r = step() {
	}
	_, err = line.End(ctx, "sku-1", queue.Ending{Visitor: queue.NewVisitor(), Kind: queue.Finish}) // the store has the script now
	must(err)
	client.AddHook(seen)
	one := func(what string, do func() error) {
		t.Helper()
		before := seen.n.Load()
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := seen.n.Load() - before; n != 1 {
			t.Errorf("%s: %d calls of the store, want 1", what, n)
		}
	}
	one("claims", func() error { _, err := line.Ask(ctx, "sku-1", asks[:people]); return err })
	one("joins", func() error { _, err := line.Ask(ctx, "sku-1", asks[people:]); return err })
	one("a step", func() error { step(); return nil })
	one("an end", func() error {
		_, err := line.End(ctx, "sku-1", queue.Ending{Visitor: asks[0].Visitor, Kind: queue.Finish})
		return err
	})
	if r := step(); r.Counts.Running != people-1 || r.Counts.Waiting != people {
		t.Fatalf("%+v", r.Counts)
	}
	for _, ask := range append(asks[1:11], asks[people:people+10]...) {
		for _, key := range []string{"admissions", "heard"} {
			must(client.HDel(ctx, s.Prefix()+"{sku-1}:"+key, string(ask.Visitor)).Err())
		}
	}
	for range 600 {
		hand.Add(250 * time.Millisecond)
		step()
	}
	if r := step(); r.Counts.Running != 0 || r.Counts.Waiting != 0 {
		t.Errorf("after all times have passed: %+v", r.Counts)
	}
}
